#include "cmd/run/options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <random>
#include <utility>

#include "base/time/steady_clock.hpp"
#include "cmd/input/files.hpp"

namespace cmd {
namespace {

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

}  // namespace

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

std::string identity_of(const RunOptions& options) {
  if (!options.identity.empty()) return options.identity;
  char host[256] = "evacuator";
  gethostname(host, sizeof host - 1);
  return fmt::format("{}_{:08x}", host, std::random_device()());
}

}  // namespace cmd
