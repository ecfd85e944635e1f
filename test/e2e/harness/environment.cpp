#include "test/e2e/harness/environment.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
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

/// The program evacuator_simulated_cluster as a child. It obeys lines on its stdin and answers each with one on stdout.
class SimulatorEnvironment final : public Environment {
 public:
  explicit SimulatorEnvironment(const std::filesystem::path& scratch)
      : folder_(scratch / "simulator"), child_(options(folder_)), records_(await_records()) {}

  std::string_view name() const override { return "simulator"; }
  std::filesystem::path admin_kubeconfig() const override { return folder_ / "admin.kubeconfig"; }
  std::filesystem::path operator_kubeconfig() override { return folder_ / "operator.kubeconfig"; }
  std::string_view crds() const override { return "crds"; }
  std::string_view everything() const override { return "config/default"; }
  std::string_view pdb_version() const override { return "policy/v1"; }
  bool has_rbac() const override { return false; }

  void stop_apiserver() override { command("stop-apiserver"); }
  void start_apiserver() override { command("start-apiserver"); }

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

  /// Waits until `text` is in its log after the first `skip` bytes; returns what follows it on that line.
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

/// The audit log, read as it grows.
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
    call.cut_off =
        call.code >= 500 && text_at(entry, "/responseObject/message").find("context canceled") != std::string::npos;
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
  std::string_view crds() const override { return "crds/legacy"; }
  std::string_view everything() const override { return "config/legacy"; }
  std::string_view pdb_version() const override { return "policy/v1beta1"; }
  bool has_rbac() const override { return true; }

  void stop_apiserver() override { cluster_script("control.sh", {"stop-apiserver"}, std::chrono::minutes(2)); }
  void start_apiserver() override { cluster_script("control.sh", {"start-apiserver"}, std::chrono::minutes(2)); }
  std::vector<PodCall> pod_calls() override { return audit_.read(); }

 private:
  std::filesystem::path kubeconfig_;
  AuditLog audit_;
};

}  // namespace

std::unique_ptr<Environment> make_environment(const std::filesystem::path& scratch) {
  const std::string target = value_of("EVACUATOR_E2E_TARGET", "simulator");
  if (target == "simulator") return std::make_unique<SimulatorEnvironment>(scratch);
  if (target == "real") return std::make_unique<RealEnvironment>();
  throw Failure("EVACUATOR_E2E_TARGET must be simulator or real, it is '" + target + "'");
}

WallTime parse_time(const std::string& text) {
  std::tm parts{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) throw Failure("not a time: '" + text + "'");
  const double fraction = *rest == '.' ? std::strtod(rest, nullptr) : 0.0;
  return std::chrono::system_clock::from_time_t(timegm(&parts)) +
         std::chrono::microseconds(static_cast<std::int64_t>(fraction * 1e6));
}

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  if (!bound) throw Failure("no free port on loopback");
  return ntohs(address.sin_port);
}

}  // namespace e2e
