#include "kube/config/config.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "base/base64.hpp"
#include "kube/config/files.hpp"
#include "kube/config/kubeconfig.hpp"
#include "kube/config/proxy_environment.hpp"
#include "kube/config/url.hpp"

namespace kube {
namespace {

std::string variable(const Environment& environment, const std::string& name) {
  const auto at = environment.find(name);
  return at == environment.end() ? std::string() : at->second;
}

std::vector<std::string> split_paths(const std::string& list) {
  std::vector<std::string> paths;
  for (std::size_t from = 0; from <= list.size();) {
    const auto to = std::min(list.find(':', from), list.size());
    if (to > from) paths.push_back(list.substr(from, to - from));
    from = to + 1;
  }
  return paths;
}

/// Returns false for plain HTTP to another host, over which credentials must not be sent. kubectl does the same.
bool may_send_credentials_to(const std::string& server) {
  const auto url = parse_url(server);
  return url && (url->tls || url->is_loopback());
}

/// Follows kubectl: an exec plugin is used only without simpler credentials, and a token takes precedence over user and
/// password.
base::Result<std::shared_ptr<Credentials>> credentials_of(const KubeconfigUser& user, const base::Clock& clock) {
  if (!user.auth_provider.empty() && !user.exec)
    return base::Error{
        base::ErrorCode::kUnsupported,
        fmt::format("user \"{}\" uses the auth-provider \"{}\", which was removed from Kubernetes in 1.26; "
                    "switch to an exec credential plugin",
                    user.name, user.auth_provider)};
  CredentialFiles files;
  files.embedded.client_certificate_pem = user.client_certificate_pem;
  files.embedded.client_key_pem = user.client_key_pem;
  files.client_certificate_file = user.client_certificate_file;
  files.client_key_file = user.client_key_file;
  const bool has_certificate = !user.client_certificate_pem.empty() || !user.client_certificate_file.empty();
  const bool has_key = !user.client_key_pem.empty() || !user.client_key_file.empty();
  if (has_certificate != has_key)
    return base::invalid(fmt::format("user \"{}\" has only one of client-certificate and client-key", user.name));
  if (!user.token.empty()) {
    auto header = bearer(user.token);
    if (!header) return std::move(header).error().during(fmt::format("user \"{}\"", user.name));
    files.embedded.authorization = *std::move(header);
  } else if (user.token_file.empty() && !user.username.empty()) {
    files.embedded.authorization = "Basic " + base::encode_base64(user.username + ":" + user.password);
  }
  files.token_file = user.token_file;
  const bool simple = has_certificate || !files.embedded.authorization.empty() || !files.token_file.empty();
  if (user.exec && !simple) return exec_credentials(*user.exec, clock);
  return file_credentials(std::move(files), clock);
}

base::Status check_urls(const ChosenContext& chosen) {
  if (chosen.cluster.server.empty())
    return base::invalid(fmt::format("cluster \"{}\" has no server", chosen.cluster.name));
  if (const auto url = parse_url(chosen.cluster.server); !url)
    return url.error().during(fmt::format("server of cluster \"{}\"", chosen.cluster.name));
  if (chosen.cluster.proxy_url.empty()) return base::Done{};
  const auto proxy = parse_url(chosen.cluster.proxy_url);
  if (!proxy || proxy->tls || chosen.cluster.proxy_url.find("://") == std::string::npos)
    return base::Error{
        base::ErrorCode::kUnsupported,
        fmt::format("proxy-url of cluster \"{}\": only proxies of the form http://host:port are supported",
                    chosen.cluster.name)};
  return base::Done{};
}

base::Result<Config> config_of(const Kubeconfig& kubeconfig, const std::string& context, const std::string& source,
                               const base::Clock& clock) {
  const auto chosen = choose_context(kubeconfig, context);
  if (!chosen) return chosen.error().during(source);
  if (const auto checked = check_urls(*chosen); !checked) return checked.error().during(source);
  auto credentials = credentials_of(chosen->user, clock);
  if (!credentials) return std::move(credentials).error().during(source);
  const KubeconfigCluster& cluster = chosen->cluster;
  Config config;
  config.server = cluster.server;
  config.tls_server_name = cluster.tls_server_name;
  config.insecure_skip_tls_verify = cluster.insecure_skip_tls_verify;
  config.ca_pem = cluster.ca_pem;
  config.ca_file = cluster.ca_pem.empty() ? cluster.ca_file : std::string();
  config.proxy_url = cluster.proxy_url;
  if (!chosen->context.ns.empty()) config.default_namespace = chosen->context.ns;
  config.source = fmt::format("context \"{}\" of {}", chosen->context.name, source);
  config.credentials = may_send_credentials_to(cluster.server) ? *std::move(credentials) : static_credentials({});
  return config;
}

/// Reads and merges the files. Skips a missing file unless `must_exist`.
base::Result<Config> config_from_files(const std::vector<std::string>& paths, bool must_exist,
                                       const std::string& context, const base::Clock& clock) {
  Kubeconfig merged;
  std::string source;
  for (const std::string& path : paths) {
    const auto text = read_file(path);
    if (!text && base::is_not_found(text.error()) && !must_exist) continue;
    if (!text) return text.error().during("kubeconfig");
    auto parsed = parse_kubeconfig(*text, path);
    if (!parsed) return std::move(parsed).error().during("kubeconfig");
    merge(merged, *std::move(parsed));
    source += (source.empty() ? "" : ":") + path;
  }
  if (source.empty())
    return base::Error{base::ErrorCode::kNotFound,
                       fmt::format("none of the files in KUBECONFIG exists ({}); correct it or pass --kubeconfig FILE",
                                   fmt::join(paths, ", "))};
  return config_of(merged, context, "kubeconfig " + source, clock);
}

/// A proxy in the kubeconfig takes precedence over the environment's.
base::Result<Config> with_proxy(base::Result<Config> config, const Environment& environment) {
  if (!config || !config->proxy_url.empty()) return config;
  const auto server = parse_url(config->server);
  if (!server) return server.error();
  auto proxy = proxy_from_environment(environment, *server);
  if (!proxy) return std::move(proxy).error();
  config->proxy_url = *std::move(proxy);
  return config;
}

base::Result<Config> find_config(const ConfigFlags& flags, const Environment& environment, const base::Clock& clock) {
  if (!flags.kubeconfig.empty()) return config_from_files({flags.kubeconfig}, true, flags.context, clock);
  const auto listed = split_paths(variable(environment, "KUBECONFIG"));
  if (!listed.empty()) return config_from_files(listed, false, flags.context, clock);
  const bool in_pod = !variable(environment, "KUBERNETES_SERVICE_HOST").empty();
  if (in_pod && flags.context.empty()) return in_cluster_config(environment, clock);
  const std::string home = variable(environment, "HOME");
  const std::string usual = home + "/.kube/config";
  std::error_code failed;
  if (!home.empty() && std::filesystem::exists(usual, failed))
    return config_from_files({usual}, true, flags.context, clock);
  return base::Error{base::ErrorCode::kNotFound,
                     "no cluster is configured: pass --kubeconfig FILE, set KUBECONFIG, create ~/.kube/config, or run "
                     "in a pod with a service account"};
}

}  // namespace

base::Result<Config> config_from_text(std::string_view text, const std::string& file, const std::string& context,
                                      const base::Clock& clock) {
  const auto parsed = parse_kubeconfig(text, file);
  if (!parsed) return parsed.error().during("kubeconfig");
  return config_of(*parsed, context, "kubeconfig " + file, clock);
}

base::Result<Config> in_cluster_config(const Environment& environment, const base::Clock& clock,
                                       const std::string& folder) {
  const std::string host = variable(environment, "KUBERNETES_SERVICE_HOST");
  const std::string port = variable(environment, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty())
    return base::Error{base::ErrorCode::kNotFound,
                       "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"};
  Config config;
  config.source = "the pod's service account (" + folder + ")";
  config.server =
      host.find(':') == std::string::npos ? "https://" + host + ":" + port : "https://[" + host + "]:" + port;
  if (const auto url = parse_url(config.server); !url) return url.error().during("KUBERNETES_SERVICE_HOST and _PORT");
  config.ca_file = folder + "/ca.crt";
  if (const auto ca = read_file(config.ca_file); !ca) return ca.error().during(config.source);
  if (const auto ns = read_file(folder + "/namespace"); ns && !trim(*ns).empty()) config.default_namespace = trim(*ns);
  CredentialFiles files;
  files.token_file = folder + "/token";
  config.credentials = file_credentials(std::move(files), clock);
  if (const auto token = config.credentials->present(); !token)
    return token.error().during(config.source + " (is automountServiceAccountToken off?)");
  return config;
}

base::Result<Config> load_config(const ConfigFlags& flags, const Environment& environment, const base::Clock& clock) {
  return with_proxy(find_config(flags, environment, clock), environment);
}

}  // namespace kube
