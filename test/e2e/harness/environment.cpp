#include "test/e2e/harness/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>

#include "test/e2e/harness/await.hpp"
#include "test/e2e/harness/process.hpp"

namespace e2e {
namespace {

std::string value_of(const char* variable, std::string otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? std::move(otherwise) : std::string(value);
}

std::string without_newline(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// ---------------------------------------------------------------- simulator

constexpr int kNewestMinor = 36;  // version that the simulator reports

/// The program evacuator_simulated_cluster as a child process. It reads commands from its stdin and answers each with
/// one line on stdout.
class SimulatorEnvironment final : public Environment {
 public:
  explicit SimulatorEnvironment(const std::filesystem::path& scratch)
      : folder_(scratch / "simulator"), child_(options(folder_)), records_(await_records()) {}

  std::string_view name() const override { return "simulator"; }
  std::filesystem::path admin_kubeconfig() const override { return folder_ / "admin.kubeconfig"; }
  std::filesystem::path operator_kubeconfig() override { return folder_ / "operator.kubeconfig"; }
  int minor() override { return kNewestMinor; }
  bool has_rbac() const override { return false; }

  void stop_apiserver() override { command("stop-apiserver"); }
  void start_apiserver() override { command("start-apiserver"); }

  /// The journal contains no reads.
  bool has_listed_by_watch(const std::string&) override { return false; }

  std::vector<PodCall> pod_calls() override {
    const HttpAnswer answer = records_.request("GET", "/simulator/journal");
    if (answer.code != 200) throw Failure("GET /simulator/journal: " + std::to_string(answer.code) + " " + answer.body);
    std::vector<PodCall> calls;
    std::istringstream lines(answer.body);
    for (std::string line; std::getline(lines, line);) {
      if (line.find(R"("resource":"pods")") == std::string::npos) continue;
      if (auto call = decode(Json::parse(line))) calls.push_back(*std::move(call));
    }
    return calls;
  }

 private:
  static Process::Options options(const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    std::filesystem::remove(folder / "simulator.log");
    Process::Options options;
    options.argv = {EVACUATOR_SIMULATED_CLUSTER, "--folder", folder.string()};
    options.log = folder / "simulator.log";
    options.with_input = true;
    return options;
  }

  /// Waits until `text` is in the log after the first `skip` bytes. Returns the rest of that line.
  std::string await_line(const std::string& text, std::size_t skip) {
    return await("the simulator to say " + text, [&](std::string& seen) -> std::optional<std::string> {
      seen = read_file(child_.log()).substr(skip);
      const std::size_t at = seen.find(text);
      const std::size_t end = at == std::string::npos ? at : seen.find('\n', at);
      if (end != std::string::npos) return seen.substr(at + text.size(), end - at - text.size());
      if (!child_.running()) throw Failure("the simulator ended:\n" + seen);
      return std::nullopt;
    });
  }

  Api await_records() { return Api(static_cast<std::uint16_t>(std::stoi(await_line("ready: journal on ", 0)))); }

  void command(const std::string& line) {
    const std::size_t before = read_file(child_.log()).size();
    child_.tell(line);
    await_line("done: " + line, before);
  }

  static std::optional<PodCall> decode(const Json& entry);

  std::filesystem::path folder_;
  Process child_;
  Api records_;
};

std::optional<PodCall> SimulatorEnvironment::decode(const Json& entry) {
  const std::string verb = text_at(entry, "/verb");
  const std::string subresource = text_at(entry, "/subresource");
  const bool evicts = verb == "create" && subresource == "eviction";
  const bool deletes = verb.starts_with("delete") && subresource.empty();
  if (text_at(entry, "/resource") != "pods" || !(evicts || deletes) || entry.value("dryRun", false))
    return std::nullopt;
  PodCall call;
  call.at = parse_time(text_at(entry, "/time"));
  call.kind = evicts ? PodCall::Kind::kEvict : PodCall::Kind::kDelete;
  call.user = text_at(entry, "/user");
  call.ns = text_at(entry, "/namespace");
  call.pod = text_at(entry, "/name");
  call.uid = text_at(entry, "/uid");
  call.code = static_cast<int>(number_at(entry, "/code"));
  return call;
}

// ---------------------------------------------------------------- real

std::string cluster_script(const std::string& script, const std::vector<std::string>& arguments,
                           std::chrono::seconds limit) {
  std::vector<std::string> argv{std::string(EVACUATOR_SOURCE_DIR) + "/hack/cluster/" + script};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const Finished done = run(argv, {}, limit);
  if (!done.ok()) throw Failure(script + " failed (" + std::to_string(done.exit_code) + "):\n" + done.err);
  return without_newline(done.out);
}

/// Returns true for a server's answer to a client that had disconnected. Such an answer does not show whether the call
/// was carried out. Servers from 1.22 on have several messages.
bool tells_of_a_lost_caller(const std::string& message) {
  static constexpr std::string_view kWords[] = {"context canceled", "request did not complete within",
                                                "unable to return a response in the time allotted", "APIServer panic"};
  return std::ranges::any_of(kWords, [&](std::string_view words) { return message.find(words) != std::string::npos; });
}

/// The growing audit log.
class AuditLog {
 public:
  explicit AuditLog(std::filesystem::path file) : file_(std::move(file)) {}

  const std::vector<PodCall>& read() {
    std::ifstream log(file_, std::ios::binary);
    log.seekg(static_cast<std::streamoff>(offset_));
    for (std::string line; std::getline(log, line) && !log.eof();) {
      offset_ += line.size() + 1;
      if (line.find(R"("resource":"pods")") != std::string::npos) take(line);
    }
    return calls_;
  }

  /// Returns true if the server accepted a watch by `user` that begins with a list of `path`.
  bool has_watch_list(const std::string& user, const std::string& path) const {
    std::ifstream log(file_, std::ios::binary);
    for (std::string line; std::getline(log, line) && !log.eof();) {
      if (line.find("sendInitialEvents=true") == std::string::npos) continue;
      const Json entry = Json::parse(line);
      if (text_at(entry, "/user/username") == user && number_at(entry, "/responseStatus/code") == 200 &&
          text_at(entry, "/requestURI").starts_with(path + "?"))
        return true;
    }
    return false;
  }

 private:
  void take(const std::string& line) {
    const bool deletes = line.find(R"("verb":"delete)") != std::string::npos;
    if (!deletes && line.find(R"("subresource":"eviction")") == std::string::npos) return;
    const Json entry = Json::parse(line);
    const std::string subresource = text_at(entry, "/objectRef/subresource");
    if (subresource != (deletes ? "" : "eviction") ||
        text_at(entry, "/requestURI").find("dryRun=All") != std::string::npos)
      return;
    PodCall call;
    call.at = parse_time(text_at(entry, "/requestReceivedTimestamp"));
    call.kind = deletes ? PodCall::Kind::kDelete : PodCall::Kind::kEvict;
    call.user = text_at(entry, "/user/username");
    call.ns = text_at(entry, "/objectRef/namespace");
    call.pod = text_at(entry, "/objectRef/name");
    call.uid = text_at(entry, "/requestObject/deleteOptions/preconditions/uid");
    call.code = static_cast<int>(number_at(entry, "/responseStatus/code"));
    call.cut_off = call.code >= 500 && tells_of_a_lost_caller(text_at(entry, "/responseObject/message") +
                                                              text_at(entry, "/responseStatus/message"));
    calls_.push_back(std::move(call));
  }

  std::filesystem::path file_;
  std::size_t offset_ = 0;
  std::vector<PodCall> calls_;
};

class RealEnvironment final : public Environment {
 public:
  RealEnvironment()
      : kubeconfig_(cluster_script("up.sh", {}, std::chrono::minutes(30))),
        audit_(cluster_script("control.sh", {"audit-log"}, std::chrono::seconds(30))) {}

  std::string_view name() const override { return "real"; }
  std::filesystem::path admin_kubeconfig() const override { return kubeconfig_; }
  std::filesystem::path operator_kubeconfig() override {
    return cluster_script("control.sh", {"kubeconfig-for", "evacuator-system", "evacuator"}, std::chrono::seconds(60));
  }
  int minor() override {
    if (!minor_) minor_ = minor_of(discover("/version"));
    return *minor_;
  }
  bool has_rbac() const override { return true; }

  void stop_apiserver() override { cluster_script("control.sh", {"stop-apiserver"}, std::chrono::minutes(2)); }
  void start_apiserver() override { cluster_script("control.sh", {"start-apiserver"}, std::chrono::minutes(2)); }
  std::vector<PodCall> pod_calls() override { return audit_.read(); }
  bool has_listed_by_watch(const std::string& path) override { return audit_.has_watch_list(operator_user(), path); }

 private:
  std::string discover(const std::string& path) const {
    const Finished done = run({kubectl_binary(), "--kubeconfig=" + kubeconfig_.string(), "get", "--raw=" + path});
    if (!done.ok()) throw Failure("GET " + path + ": " + done.err);
    return done.out;
  }

  std::filesystem::path kubeconfig_;
  AuditLog audit_;
  std::optional<int> minor_;
};

}  // namespace

std::unique_ptr<Environment> make_environment(const std::filesystem::path& scratch) {
  const std::string target = value_of("EVACUATOR_E2E_TARGET", "simulator");
  if (target == "simulator") return std::make_unique<SimulatorEnvironment>(scratch);
  if (target == "real") return std::make_unique<RealEnvironment>();
  throw Failure("EVACUATOR_E2E_TARGET must be simulator or real, it is '" + target + "'");
}

int minor_of(const std::string& version) {
  const std::string text = text_at(Json::parse(version, nullptr, false), "/gitVersion");
  int minor = 0;
  if (std::sscanf(text.c_str(), "v1.%d.", &minor) != 1) throw Failure("what version is this server? " + version);
  return minor;
}

std::string kubectl_binary() {
  const std::string ours = value_of("KUBEBUILDER_ASSETS", "") + "/kubectl";
  return ours != "/kubectl" && ::access(ours.c_str(), X_OK) == 0 ? ours : "kubectl";
}

std::string path_with(const std::string& folder) {
  const std::string assets = value_of("KUBEBUILDER_ASSETS", "");
  return folder + ":" + (assets.empty() ? "" : assets + ":") + value_of("PATH", "/usr/bin:/bin");
}

WallTime parse_time(const std::string& text) {
  std::tm parts{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) throw Failure("not a time: '" + text + "'");
  const double fraction = *rest == '.' ? std::strtod(rest, nullptr) : 0.0;
  return std::chrono::system_clock::from_time_t(timegm(&parts)) +
         std::chrono::microseconds(static_cast<std::int64_t>(fraction * 1e6));
}

}  // namespace e2e
