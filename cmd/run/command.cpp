#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "base/allocator.hpp"
#include "base/time/steady_clock.hpp"
#include "cmd/commands.hpp"
#include "cmd/input/files.hpp"
#include "cmd/once/watch.hpp"
#include "cmd/output.hpp"
#include "cmd/run/process.hpp"
#include "cmd/signals.hpp"
#include "cmd/version/version.hpp"
#include "controllers/operator/audit_config.hpp"
#include "controllers/operator/operator_config.hpp"
#include "kube/config/config.hpp"
#include "kube/config/process_environment.hpp"

namespace cmd {
namespace {

using base::kv;
using base::Status;
using controllers::OperatorConfig;

constexpr const char* kServiceAccountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

Status read_duration(const std::optional<std::string>& flag, const char* name, base::Duration& target) {
  if (!flag) return base::Done{};
  const auto duration = base::parse_duration(*flag);
  if (!duration || *duration <= base::Duration::zero()) {
    return base::invalid(fmt::format("{}: \"{}\" is not a duration such as 15s", name, *flag));
  }
  target = *duration;
  return base::Done{};
}

Status apply_log_flags(const RunOptions& options, OperatorConfig& config) {
  if (options.log_level) {
    const auto level = controllers::parse_log_level(*options.log_level);
    if (!level) return base::invalid("--log-level: must be debug, info, warning or error");
    config.log_level = *level;
  }
  if (options.log_format) {
    const auto format = controllers::parse_log_format(*options.log_format);
    if (!format) return base::invalid("--log-format: must be text or json");
    config.log_format = *format;
  }
  return base::Done{};
}

Status apply_election_flags(const RunOptions& options, OperatorConfig& config) {
  auto& election = config.leader_election;
  if (options.leader_elect) election.enabled = *options.leader_elect;
  if (!options.ns.empty()) election.ns = options.ns;
  if (auto read = read_duration(options.lease_duration, "--lease-duration", election.lease_duration); !read)
    return read;
  if (auto read = read_duration(options.renew_deadline, "--renew-deadline", election.renew_deadline); !read)
    return read;
  if (auto read = read_duration(options.retry_period, "--retry-period", election.retry_period); !read) return read;
  if (election.ns.empty()) std::getline(std::ifstream(kServiceAccountNamespace), election.ns);
  if (election.ns.empty()) election.ns = "evacuator-system";
  return base::Done{};
}

/// Returns the configuration file overridden by flags. Stores the text of the file in `file_text`. Returns kInvalid
/// with the reason if it is invalid.
base::Result<OperatorConfig> load_operator_config(const RunOptions& options, std::string& file_text) {
  OperatorConfig config;
  if (!options.config_file.empty()) {
    auto text = read_file(options.config_file, std::size_t{1} << 20);
    if (!text) return text.error();
    file_text = *std::move(text);
    auto parsed = controllers::parse_operator_config(file_text);
    if (!parsed) return parsed.error().during(options.config_file);
    config = *std::move(parsed);
  }
  if (auto applied = apply_log_flags(options, config); !applied) return applied.error();
  if (auto applied = apply_election_flags(options, config); !applied) return applied.error();
  if (options.health_address) config.server.health_address = *options.health_address;
  if (options.metrics_address) config.server.metrics_address = *options.metrics_address;
  if (options.qps) config.qps = *options.qps;
  if (options.burst) config.burst = *options.burst;
  if (options.workers) config.workers = *options.workers;
  if (const auto errors = controllers::validate(config); !errors.empty()) return api::to_error(errors);
  return config;
}

/// Returns the limits of --once starting now, nullopt without --once. Returns kInvalid with the name of the flag or
/// configuration field.
base::Result<std::optional<OnceWatch>> read_once(const RunOptions& options, const OperatorConfig& config) {
  base::Duration timeout = std::chrono::hours(1);
  if (auto read = read_duration(options.once_timeout, "--once-timeout", timeout); !read) return read.error();
  if (!options.once) {
    if (options.once_timeout) return base::invalid("--once-timeout requires --once");
    return std::optional<OnceWatch>();
  }
  const auto& election = config.leader_election;
  if (!election.enabled)
    return base::invalid(
        "--once requires the Lease: leaderElection.enabled must be true, otherwise it could act concurrently with a "
        "leader");
  const OnceWatch::Limits limits{.timeout = timeout,
                                 .patience = election.lease_duration + 2 * election.retry_period + base::seconds(2),
                                 .quiet = base::seconds(1),
                                 .cleanup_timeout = base::seconds(15)};
  return std::optional<OnceWatch>(std::in_place, limits, base::SteadyClock().now());
}

/// Returns the identity of this replica: the configured one, or a unique one based on the host name.
std::string identity_of(const RunOptions& options) {
  if (!options.identity.empty()) return options.identity;
  char host[256] = "evacuator";
  gethostname(host, sizeof host - 1);
  return fmt::format("{}_{:08x}", host, std::random_device()());
}

base::Status run(const RunOptions& options) {
  std::string config_text;
  auto config = load_operator_config(options, config_text);
  if (!config) return config.error();
  const base::Log log = base::Log::to_stderr(config->log_level, config->log_format);
  const auto once = read_once(options, *config);
  if (!once) return once.error();
  static const base::SystemClock clock;
  auto cluster = kube::load_config({options.kubeconfig, options.context}, kube::child_environment(), clock);
  if (!cluster) return cluster.error();
  const Interrupted interrupted;  // must precede all threads
  const std::string identity = identity_of(options);
  log.info("starting", {kv("version", EVACUATOR_VERSION), kv("commit", build_commit()), kv("identity", identity)});
  const audit::Record loaded = controllers::record_of_configuration(*config, options.config_file, config_text);
  Process process(*std::move(config), identity, *std::move(cluster), log, *once);
  process.audit().record(loaded);
  return process.run(interrupted);
}

}  // namespace

int run_operator(const RunOptions& options) {
  base::configure_allocator();
  return exit_code_of("evacuator run", run(options));
}

}  // namespace cmd
