#include "kube/config/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/base64.hpp"
#include "kube/config/files.hpp"
#include "kube/config/kubeconfig.hpp"
#include "kube/config/url.hpp"

namespace kube {
namespace config_test {

using base::ErrorCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Temporary folder, removed by the destructor.
class Folder {
 public:
  Folder() {
    static std::atomic<int> count = 0;
    path_ = ::testing::TempDir() + "/kube-config-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << content;
    return path(name);
  }
  std::string write_script(const std::string& name, const std::string& content) const {
    write(name, "#!/bin/sh\n" + content);
    ::chmod(path(name).c_str(), 0755);
    return path(name);
  }

 private:
  std::string path_;
};

const std::string kTwoContexts = R"(
apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: dev-cluster
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority-data: Q0EtUEVN
- name: prod-cluster
  cluster:
    server: https://prod.example:443/base/
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes
    proxy-url: http://proxy.example:3128
- name: lab
  cluster: {server: "http://localhost:8080", insecure-skip-tls-verify: true}
users:
- name: dev-user
  user: {token: dev-token-secret}
- name: prod-user
  user: {username: alice, password: "pass:word-secret"}
contexts:
- name: dev
  context: {cluster: dev-cluster, user: dev-user, namespace: shop}
- name: prod
  context: {cluster: prod-cluster, user: prod-user}
- name: lab
  context: {cluster: lab}
)";

class ConfigTest : public ::testing::Test {
 protected:
  base::Result<Config> from(const std::string& text, const std::string& context = {}) {
    return config_from_text(text, folder.path("config"), context, clock);
  }
  static std::string authorization_of(const base::Result<Config>& config) {
    if (!config) return "error: " + config.error().message;
    const auto presented = config->credentials->present();
    return presented ? presented->authorization : "error: " + presented.error().message;
  }
  Folder folder;
  base::ManualClock clock{base::TimePoint{} + base::seconds(1'800'000'000)};
};

TEST_F(ConfigTest, ReadsTheCurrentContext) {
  const auto config = from(kTwoContexts);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://10.0.0.1:6443");
  EXPECT_EQ(config->ca_pem, "CA-PEM");
  EXPECT_EQ(config->default_namespace, "shop");
  EXPECT_EQ(authorization_of(config), "Bearer dev-token-secret");
  EXPECT_EQ(config->source, "context \"dev\" of kubeconfig " + folder.path("config"));
}

TEST_F(ConfigTest, ReadsAnotherContext) {
  const auto config = from(kTwoContexts, "prod");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->ca_file, folder.path("pki/ca.crt")) << "relative to the kubeconfig";
  EXPECT_EQ(config->tls_server_name, "kubernetes");
  EXPECT_EQ(config->proxy_url, "http://proxy.example:3128");
  EXPECT_EQ(config->default_namespace, "default");
  EXPECT_EQ(authorization_of(config), "Basic " + base::encode_base64("alice:pass:word-secret"));
}

TEST_F(ConfigTest, ContextWithoutUserIsAnonymous) {
  const auto config = from(kTwoContexts, "lab");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->insecure_skip_tls_verify);
  EXPECT_EQ(authorization_of(config), "");
}

struct BadConfig {
  const char* name;
  const char* text;
  const char* context;
  const char* message;
};
class BadConfigTest : public ::testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigTest, NamesFileAndFix) {
  const base::SystemClock clock;
  const auto config = config_from_text(GetParam().text, "/home/a/.kube/config", GetParam().context, clock);
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message,
              AllOf(HasSubstr("/home/a/.kube/config"), HasSubstr(GetParam().message), Not(HasSubstr("SECRET"))));
}

INSTANTIATE_TEST_SUITE_P(
    Kube, BadConfigTest,
    ::testing::Values(
        BadConfig{"Empty", "", "", "no current-context"}, BadConfig{"NotYaml", "a: [b", "", "not valid YAML"},
        BadConfig{"Html", "<html><body>login SECRET</body></html>", "", "is not a kubeconfig"},
        BadConfig{"List", "- a\n- b\n", "", "is not a kubeconfig"},
        BadConfig{"OtherKind", "kind: Pod\n", "", "kind must be Config"},
        BadConfig{"NoSuchContext", "contexts: [{name: a, context: {cluster: c}}, {name: b, context: {}}]", "x",
                  "context \"x\" does not exist; choose one with --context (there are: a, b)"},
        BadConfig{"NoSuchCluster", "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]", "",
                  "names the cluster \"c\", which does not exist (there are: none)"},
        BadConfig{"NoSuchUser",
                  "current-context: a\nclusters: [{name: c, cluster: {server: 'https://h'}}]\n"
                  "contexts: [{name: a, context: {cluster: c, user: u}}]",
                  "", "names the user \"u\""},
        BadConfig{"NoServer",
                  "current-context: a\nclusters: [{name: c, cluster: {}}]\n"
                  "contexts: [{name: a, context: {cluster: c}}]",
                  "", "cluster \"c\" has no server"},
        BadConfig{"BadServer",
                  "current-context: a\nclusters: [{name: c, cluster: {server: 'ftp://h'}}]\n"
                  "contexts: [{name: a, context: {cluster: c}}]",
                  "", "scheme must be http or https"},
        BadConfig{"BadProxy",
                  "current-context: a\nclusters: [{name: c, cluster: {server: 'https://h', proxy-url: "
                  "'socks5://u:SECRET@p'}}]\n"
                  "contexts: [{name: a, context: {cluster: c}}]",
                  "", "only proxies of the form http://host:port"},
        BadConfig{"ProxyOverTls",
                  "current-context: a\nclusters: [{name: c, cluster: {server: 'https://h', proxy-url: "
                  "'https://u:SECRET@p'}}]\n"
                  "contexts: [{name: a, context: {cluster: c}}]",
                  "", "only proxies of the form http://host:port"},
        BadConfig{"TokenIsNumber", "users: [{name: u, user: {token: 12345}}]", "",
                  "users[0].user.token: must be a string"},
        BadConfig{"ClustersNoList", "clusters: {a: b}", "", "clusters: must be a list"},
        BadConfig{"ClusterNoMapping", "clusters: [hello]", "", "clusters[0]"},
        BadConfig{"FlagIsText", "clusters: [{name: c, cluster: {insecure-skip-tls-verify: 'yes'}}]", "",
                  "must be true or false"},
        BadConfig{"NoBase64", "clusters: [{name: c, cluster: {certificate-authority-data: '%%%'}}]", "",
                  "clusters[0].cluster.certificate-authority-data: is not valid Base64"},
        BadConfig{"TokenWithLineBreak",
                  "current-context: a\nclusters: [{name: c, cluster: {server: 'https://h'}}]\n"
                  "users: [{name: u, user: {token: \"SECRET\\nX: y\"}}]\n"
                  "contexts: [{name: a, context: {cluster: c, user: u}}]",
                  "", "invalid character"},
        BadConfig{"CertificateWithoutKey",
                  "current-context: a\nclusters: [{name: c, cluster: {server: 'https://h'}}]\n"
                  "users: [{name: u, user: {client-certificate: c.pem}}]\n"
                  "contexts: [{name: a, context: {cluster: c, user: u}}]",
                  "", "only one of"},
        BadConfig{"OldAuthProvider",
                  "current-context: a\nclusters: [{name: c, cluster: {server: 'https://h'}}]\n"
                  "users: [{name: u, user: {auth-provider: {name: gcp, config: {token: SECRET}}}}]\n"
                  "contexts: [{name: a, context: {cluster: c, user: u}}]",
                  "", "exec credential plugin"},
        BadConfig{"ExecVersion",
                  "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}}}]",
                  "", "users[0].user.exec.apiVersion"},
        BadConfig{"ExecInteractive",
                  "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: x, "
                  "interactiveMode: Always}}}]",
                  "", "no terminal"},
        BadConfig{"ExecWithoutCommand",
                  "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1}}}]", "",
                  "command: is missing"}),
    [](const auto& test) { return test.param.name; });

TEST_F(ConfigTest, TakesTheOnlyContext) {
  const auto config =
      from("clusters: [{name: c, cluster: {server: 'https://h'}}]\ncontexts: [{name: a, context: {cluster: c}}]");
  EXPECT_TRUE(config) << config.error().message;
}

TEST_F(ConfigTest, SkipsUnknownFields) {
  const auto config = from(
      "preferences: {colors: true}\nextensions: [{name: x}]\ncurrent-context: a\n"
      "clusters: [{name: c, cluster: {server: 'https://h', disable-compression: true, extensions: []}}]\n"
      "contexts: [{name: a, context: {cluster: c, extensions: null}}]\nusers: null");
  EXPECT_TRUE(config) << config.error().message;
}

TEST_F(ConfigTest, MergesFilesLikeKubectl) {
  const std::string first = folder.write("one/config",
                                         "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
                                         "clusters: [{name: c, cluster: {server: 'https://first'}}]");
  const std::string second =
      folder.write("two/config",
                   "current-context: b\nclusters: [{name: c, cluster: {server: 'https://second'}}, "
                   "{name: d, cluster: {server: 'https://d', certificate-authority: ca.pem}}]\n"
                   "contexts: [{name: b, context: {cluster: d}}]");
  const Environment environment{{"KUBECONFIG", folder.path("missing") + ":" + first + "::" + second}};
  const auto usual = load_config({}, environment, clock);
  ASSERT_TRUE(usual) << usual.error().message;
  EXPECT_EQ(usual->server, "https://first") << "the first that names something wins";
  const auto other = load_config({"", "b"}, environment, clock);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->ca_file, folder.path("two/ca.pem")) << "relative to its own file";
}

TEST_F(ConfigTest, UsesTheProxyOfTheEnvironmentIfTheKubeconfigHasNone) {
  const std::string file =
      folder.write("config",
                   "clusters: [{name: c, cluster: {server: 'https://h'}}, {name: d, cluster: {server: 'https://d', "
                   "proxy-url: 'http://own:1'}}]\n"
                   "contexts: [{name: a, context: {cluster: c}}, {name: b, context: {cluster: d}}]");
  const Environment environment{{"HTTPS_PROXY", "http://p:3128"}};
  EXPECT_EQ(load_config({file, "a"}, environment, clock)->proxy_url, "http://p:3128");
  EXPECT_EQ(load_config({file, "b"}, environment, clock)->proxy_url, "http://own:1");
  EXPECT_EQ(load_config({file, "a"}, {{"HTTPS_PROXY", "http://p"}, {"NO_PROXY", "h"}}, clock)->proxy_url, "");
  EXPECT_THAT(load_config({file, "a"}, {{"HTTPS_PROXY", "socks5://p"}}, clock).error().message,
              HasSubstr("HTTPS_PROXY"));
}

TEST_F(ConfigTest, FlagWinsOverEnvironmentOverPodOverHome) {
  const auto file = [&](const char* name, const char* server) {
    return folder.write(name, std::string("clusters: [{name: c, cluster: {server: '") + server +
                                  "'}}]\ncontexts: [{name: a, context: {cluster: c}}]");
  };
  const std::string flag = file("flag", "https://flag");
  const std::string listed = file("env", "https://env");
  file("home/.kube/config", "https://home");
  Environment environment{{"KUBECONFIG", listed}, {"HOME", folder.path("home")}};
  EXPECT_EQ(load_config({flag, ""}, environment, clock)->server, "https://flag");
  EXPECT_EQ(load_config({}, environment, clock)->server, "https://env");
  environment.erase("KUBECONFIG");
  EXPECT_EQ(load_config({}, environment, clock)->server, "https://home");
  environment["KUBERNETES_SERVICE_HOST"] = "10.0.0.1";
  environment["KUBERNETES_SERVICE_PORT"] = "443";
  EXPECT_THAT(load_config({}, environment, clock).error().message, HasSubstr("service account"));
  EXPECT_EQ(load_config({"", "a"}, environment, clock)->server, "https://home")
      << "--context rules the pod's account out";
}

TEST_F(ConfigTest, ExplainsWhatToDoWithoutAnyConfig) {
  EXPECT_THAT(load_config({}, {}, clock).error().message, HasSubstr("pass --kubeconfig FILE"));
  const auto missing = load_config({"/nonexistent/config", ""}, {}, clock);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("/nonexistent/config"));
  EXPECT_THAT(load_config({}, {{"KUBECONFIG", "/nonexistent/a:/nonexistent/b"}}, clock).error().message,
              HasSubstr("none of the files in KUBECONFIG exists (/nonexistent/a, /nonexistent/b)"));
  EXPECT_THAT(load_config({folder.path(""), ""}, {}, clock).error().message, HasSubstr("directory"));
}

// --- files that rotate

TEST_F(ConfigTest, ReadsTheTokenFileAgain) {
  const std::string path = folder.write("token", "one\n");
  CredentialFiles files;
  files.token_file = path;
  const auto credentials = file_credentials(files, clock);
  EXPECT_EQ(credentials->present()->authorization, "Bearer one");
  folder.write("token", "two");
  clock.advance(base::seconds(29));
  EXPECT_EQ(credentials->present()->authorization, "Bearer one");
  clock.advance(base::seconds(1));
  EXPECT_EQ(credentials->present()->authorization, "Bearer two");
  folder.write("token", "three");
  credentials->refused();
  EXPECT_EQ(credentials->present()->authorization, "Bearer three") << "at once after a 401";
  std::filesystem::remove(path);
  credentials->refused();
  EXPECT_EQ(credentials->present()->authorization, "Bearer three") << "while the file is being replaced";
}

TEST_F(ConfigTest, SendsFilesOnlyToTheServersThatTheirSecretNames) {
  CredentialFiles files;
  files.token_file = folder.write("token", "SECRET");
  files.target = {"https://mover.prod.svc:8443/base"};
  const auto credentials = file_credentials(files, clock);
  const auto refusal = [&] {
    clock.advance(base::minutes(1));
    const auto presented = credentials->present();
    return presented ? std::string() : presented.error().message;
  };
  EXPECT_EQ(refusal(), "the Secret at " + std::filesystem::path(files.token_file).parent_path().string() +
                           " does not contain the servers that its credentials are for: add the key \"for\" with the "
                           "value https://mover.prod.svc:8443");
  folder.write("for", "https://mover.prod.svc:8443\n");
  EXPECT_EQ(refusal(), "");
  folder.write("for", "https://mover.prod.svc");
  EXPECT_THAT(refusal(), HasSubstr("is not for this server")) << "what was read before is no longer shown";
  EXPECT_EQ(credentials->present().error().code, ErrorCode::kUnauthorized) << "tried again as blocked time";
}

TEST_F(ConfigTest, ReportsAMissingOrInvalidTokenFile) {
  CredentialFiles files;
  files.token_file = folder.path("missing");
  EXPECT_THAT(file_credentials(files, clock)->present().error().message, HasSubstr(files.token_file));
  files.token_file = folder.write("empty", "  \n");
  EXPECT_THAT(file_credentials(files, clock)->present().error().message, HasSubstr("the token is empty"));
  files.token_file = folder.write("split", "SECRET\r\nX-Evil: 1");
  EXPECT_THAT(file_credentials(files, clock)->present().error().message,
              AllOf(HasSubstr("split"), Not(HasSubstr("SECRET"))));
}

TEST_F(ConfigTest, ReadsCertificateFiles) {
  folder.write("c.pem", "CERT");
  folder.write("k.pem", "KEY");
  const auto config = from(
      "current-context: a\nclusters: [{name: c, cluster: {server: 'https://h'}}]\n"
      "users: [{name: u, user: {client-certificate: c.pem, client-key: k.pem}}]\n"
      "contexts: [{name: a, context: {cluster: c, user: u}}]");
  ASSERT_TRUE(config) << config.error().message;
  const auto presented = config->credentials->present();
  ASSERT_TRUE(presented) << presented.error().message;
  EXPECT_EQ(*presented, (Presented{"", "CERT", "KEY"}));
}

TEST_F(ConfigTest, ReadsThePodsServiceAccount) {
  folder.write("sa/token", "pod-token");
  folder.write("sa/ca.crt", "CA");
  folder.write("sa/namespace", "operators\n");
  const Environment environment{{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}};
  const auto config = in_cluster_config(environment, clock, folder.path("sa"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->default_namespace, "operators");
  EXPECT_EQ(config->ca_file, folder.path("sa/ca.crt"));
  EXPECT_EQ(authorization_of(config), "Bearer pod-token");
  std::filesystem::remove(folder.path("sa/token"));
  EXPECT_THAT(in_cluster_config(environment, clock, folder.path("sa")).error().message,
              HasSubstr("automountServiceAccountToken"));
  EXPECT_EQ(in_cluster_config({}, clock).error().code, ErrorCode::kNotFound);
}

// --- exec plugins

class ExecTest : public ConfigTest {
 protected:
  ExecPlugin plugin(const std::string& script) {
    ExecPlugin made;
    made.api_version = "client.authentication.k8s.io/v1";
    made.command = folder.write_script("plugin", script);
    made.user = "dev";
    return made;
  }
  static std::string answer(const std::string& status) {
    return "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":" +
           status + "}'\n";
  }
};

TEST_F(ExecTest, RunsThePluginOnce) {
  const auto credentials =
      exec_credentials(plugin("echo x >> " + folder.path("runs") + "\n" + answer(R"({"token":"t1"})")), clock);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(credentials->present()->authorization, "Bearer t1");
  EXPECT_EQ(read_file(folder.path("runs")).operator*(), "x\n");
}

TEST_F(ExecTest, RenewsBeforeExpiry) {
  const std::string expires = base::format_time(clock.now() + base::seconds(100));
  const auto credentials =
      exec_credentials(plugin("echo x >> " + folder.path("runs") + "\n" +
                              answer(R"({"token":"t1","expirationTimestamp":")" + expires + "\"}")),
                       clock);
  EXPECT_TRUE(credentials->present());
  clock.advance(base::seconds(89));
  EXPECT_TRUE(credentials->present());
  EXPECT_EQ(*read_file(folder.path("runs")), "x\n");
  clock.advance(base::seconds(1));
  EXPECT_TRUE(credentials->present());
  EXPECT_EQ(*read_file(folder.path("runs")), "x\nx\n");
}

TEST_F(ExecTest, RunsAgainAfter401WithALimitedRate) {
  const auto credentials =
      exec_credentials(plugin("echo x >> " + folder.path("runs") + "\n" + answer(R"({"token":"t1"})")), clock);
  EXPECT_TRUE(credentials->present());
  for (int i = 0; i < 5; ++i) {
    credentials->refused();
    EXPECT_TRUE(credentials->present());
  }
  EXPECT_EQ(*read_file(folder.path("runs")), "x\n");
  clock.advance(base::seconds(6));
  EXPECT_TRUE(credentials->present());
  EXPECT_EQ(*read_file(folder.path("runs")), "x\nx\n");
}

TEST_F(ExecTest, PassesArgumentsEnvironmentAndInfo) {
  ExecPlugin made = plugin("printf '%s|%s|%s|%s' \"$1\" \"$2\" \"$GREETING\" \"$KUBERNETES_EXEC_INFO\" > " +
                           folder.path("seen") + "\n" + answer(R"({"token":"t"})"));
  made.args = {"get token", "--x"};
  made.env = {{"GREETING", "hello world"}};
  made.cluster_info = R"({"server":"https://h"})";
  EXPECT_TRUE(exec_credentials(made, clock)->present());
  EXPECT_EQ(*read_file(folder.path("seen")),
            R"(get token|--x|hello world|{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
            R"("spec":{"cluster":{"server":"https://h"},"interactive":false}})");
}

TEST_F(ExecTest, PassesTheEnvironmentFromBeforePrepareProcess) {
  prepare_process();
  EXPECT_STREQ(::getenv("SSL_CERT_FILE"), "/dev/null");
  const Environment original = child_environment();
  const std::string wanted = original.contains("SSL_CERT_FILE") ? original.at("SSL_CERT_FILE") : "unset";
  EXPECT_NE(wanted, "/dev/null");
  const auto credentials = exec_credentials(
      plugin("printf %s \"${SSL_CERT_FILE-unset}\" > " + folder.path("seen") + "\n" + answer(R"({"token":"t"})")),
      clock);
  EXPECT_TRUE(credentials->present());
  EXPECT_EQ(*read_file(folder.path("seen")), wanted);
}

TEST_F(ExecTest, TakesCertificates) {
  const auto got =
      exec_credentials(plugin(answer(R"({"clientCertificateData":"C","clientKeyData":"K"})")), clock)->present();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, (Presented{"", "C", "K"}));
}

TEST_F(ExecTest, ReportsAFailureWithItsOutput) {
  const auto got =
      exec_credentials(plugin("echo 'SECRET on stdout'; echo 'please log in' >&2; exit 3"), clock)->present();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnauthorized);
  EXPECT_THAT(got.error().message, AllOf(HasSubstr("of user \"dev\""), HasSubstr("exited with code 3"),
                                         HasSubstr("please log in"), Not(HasSubstr("SECRET"))));
}

TEST_F(ExecTest, ReportsWhatToInstall) {
  ExecPlugin made = plugin("");
  made.command = "no-such-plugin-anywhere";
  made.install_hint = "Install it from the shop.";
  const auto got = exec_credentials(made, clock)->present();
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message,
              AllOf(HasSubstr("the program was not found"), HasSubstr("Install it from the shop.")));
}

TEST_F(ExecTest, KillsAPluginThatHangs) {
  ExecPlugin made = plugin("sleep 600 & sleep 600");  // The child process would keep the pipe open
  made.timeout = base::milliseconds(150);
  const auto got = exec_credentials(made, clock)->present();
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("did not exit in time"));
}

TEST_F(ExecTest, KillsAPluginThatPrintsForEver) {
  const auto got =
      exec_credentials(plugin("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"), clock)
          ->present();
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("more than 1 MiB"));
}

TEST_F(ExecTest, CachesAFailureBriefly) {
  const auto credentials = exec_credentials(plugin("echo x >> " + folder.path("runs") + "; exit 1"), clock);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(credentials->present());
  EXPECT_EQ(*read_file(folder.path("runs")), "x\n");
  clock.advance(base::seconds(5));
  EXPECT_FALSE(credentials->present());
  EXPECT_EQ(*read_file(folder.path("runs")), "x\nx\n");
}

TEST_F(ExecTest, KeepsAValidTokenWhenTheRenewalFails) {
  const std::string expires = base::format_time(clock.now() + base::seconds(100));
  const auto credentials =
      exec_credentials(plugin("[ -e " + folder.path("ran") + " ] && exit 1; touch " + folder.path("ran") + "\n" +
                              answer(R"({"token":"t1","expirationTimestamp":")" + expires + "\"}")),
                       clock);
  EXPECT_TRUE(credentials->present());
  clock.advance(base::seconds(95));
  EXPECT_TRUE(credentials->present()) << "it has 5 s to live";
  clock.advance(base::seconds(6));
  EXPECT_FALSE(credentials->present());
}

TEST_F(ExecTest, IsReadFromAKubeconfig) {
  folder.write_script("bin/plugin", answer(R"({"token":"t"})"));
  const std::string text =
      "current-context: a\nclusters: [{name: c, cluster: {server: 'https://h'}}]\n"
      "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/plugin, "
      "args: [a], env: [{name: X, value: 'y'}], provideClusterInfo: true, interactiveMode: Never}}}]\n"
      "contexts: [{name: a, context: {cluster: c, user: u}}]";
  EXPECT_EQ(authorization_of(from(text)), "Bearer t");
}

struct PrintedCase {
  const char* name;
  const char* printed;
  const char* message;
};
class PrintedTest : public ::testing::TestWithParam<PrintedCase> {};

TEST_P(PrintedTest, IsRefusedWithoutQuotingIt) {
  const auto got = parse_exec_answer(GetParam().printed, "client.authentication.k8s.io/v1");
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, AllOf(HasSubstr(GetParam().message), Not(HasSubstr("SECRET"))));
}

#define EXEC_ANSWER(status) \
  R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":)" status "}"
INSTANTIATE_TEST_SUITE_P(
    Kube, PrintedTest,
    ::testing::Values(
        PrintedCase{"Nothing", "", "no ExecCredential"}, PrintedCase{"Text", "SECRET", "no ExecCredential"},
        PrintedCase{"OtherKind", R"({"kind":"Pod"})", "no ExecCredential"},
        PrintedCase{"OtherVersion", R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"})",
                    "another apiVersion"},
        PrintedCase{"NoStatus", R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"})",
                    "without status"},
        PrintedCase{"EmptyStatus", EXEC_ANSWER("{}"), "neither"},
        PrintedCase{"StatusIsText", EXEC_ANSWER("\"SECRET\""), "without status"},
        PrintedCase{"TokenIsNumber", EXEC_ANSWER("{\"token\":7}"), "neither"},
        PrintedCase{"CertificateWithoutKey", EXEC_ANSWER("{\"clientCertificateData\":\"SECRET\"}"), "only one of"},
        PrintedCase{"TokenWithBlank", EXEC_ANSWER("{\"token\":\"SECRET x\"}"), "invalid character"},
        PrintedCase{"BadExpiry", EXEC_ANSWER("{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}"), "RFC 3339"}),
    [](const auto& test) { return test.param.name; });
#undef EXEC_ANSWER

// --- small parsers

struct UrlCase {
  const char* text;
  bool tls;
  const char* host;
  int port;
  const char* path;
  const char* authority;
};
class UrlTest : public ::testing::TestWithParam<UrlCase> {};

TEST_P(UrlTest, IsSplitIntoParts) {
  const UrlCase& c = GetParam();
  const auto url = parse_url(c.text);
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(url->tls, c.tls);
  EXPECT_EQ(url->host, c.host);
  EXPECT_EQ(url->port, c.port);
  EXPECT_EQ(url->path, c.path);
  EXPECT_EQ(url->authority(), c.authority);
}
INSTANTIATE_TEST_SUITE_P(
    Kube, UrlTest,
    ::testing::Values(UrlCase{"https://10.0.0.1:6443", true, "10.0.0.1", 6443, "", "10.0.0.1:6443"},
                      UrlCase{"https://host", true, "host", 443, "", "host"},
                      UrlCase{"https://host:443/", true, "host", 443, "", "host"},
                      UrlCase{"http://host:8080/base/path//", false, "host", 8080, "/base/path", "host:8080"},
                      UrlCase{"https://[::1]:6443", true, "::1", 6443, "", "[::1]:6443"},
                      UrlCase{"http://[fe80::1]", false, "fe80::1", 80, "", "[fe80::1]"},
                      UrlCase{"host:6443", true, "host", 6443, "", "host:6443"},
                      UrlCase{"http://u:p%40x@proxy:3128", false, "proxy", 3128, "", "proxy:3128"}));

TEST(Url, DecodesUserInfo) { EXPECT_EQ(parse_url("http://u:p%40%zz@proxy")->user_info, "u:p@%zz"); }

TEST(Url, RefusesTheRestWithoutQuotingSecrets) {
  for (const char* bad : {"", "https://", "https:///path", "ftp://h", "https://h:0", "https://h:65536", "https://h:x",
                          "https://h:", "https://[::1", "https://[host]", "https://h?q", "https://h#f", "https://h/a b",
                          "https://u:SECRET@", "https://ho st", "https://h\r\nX: y"}) {
    const auto url = parse_url(bad);
    ASSERT_FALSE(url) << bad;
    EXPECT_THAT(url.error().message, Not(HasSubstr("SECRET")));
  }
}

}  // namespace config_test
}  // namespace kube
