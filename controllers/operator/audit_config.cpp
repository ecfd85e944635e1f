#include "controllers/operator/audit_config.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "api/meta/quantity.hpp"
#include "telemetry/audit/file_sink.hpp"
#include "telemetry/audit/stdout_sink.hpp"

namespace controllers {
namespace {

using Audit = OperatorConfig::Audit;
using OnFailure = OperatorConfig::OnAuditFailure;

constexpr std::array kOnAuditFailure = {
    api::WireName<OnFailure>{OnFailure::kContinue, "Continue"},
    api::WireName<OnFailure>{OnFailure::kStopAdmissions, "StopAdmissions"},
};

void read_sinks(api::StrictObject& object, Audit& target) {
  if (object.find("sinks") == nullptr) return;
  std::vector<std::string> names;
  const std::size_t before = object.errors().size();
  object.read("sinks", names);
  if (object.errors().size() > before) return;
  target.to_file = target.to_stdout = false;
  for (const std::string& name : names) {
    if (name != "File" && name != "Stdout") {
      object.complain("sinks", fmt::format("\"{}\" is not a sink: must be File or Stdout", name));
    }
    target.to_file = target.to_file || name == "File";
    target.to_stdout = target.to_stdout || name == "Stdout";
  }
}

void read_size(api::StrictObject& object, std::string_view name, std::int64_t& target) {
  const api::Json* found = object.find(name);
  if (found == nullptr) return;
  const std::string text = found->is_string()           ? found->get<std::string>()
                           : found->is_number_integer() ? std::to_string(found->get<std::int64_t>())
                                                        : "";
  const auto size = api::Quantity::parse(text);
  if (!size) return object.complain(name, "must be a size such as 100Mi");
  target = size->units();
}

std::string duration_text(const std::optional<base::Duration>& duration) {
  return duration ? base::format_duration(*duration) : "none";
}

std::string rate_text(const std::optional<api::RateLimit>& rate) {
  if (!rate) return "none";
  return fmt::format("{} each {}, burst {}", rate->per_second.value_or(rate->per_minute.value_or(0)),
                     rate->per_second ? "second" : "minute", rate->burst);
}

std::string limit_text(const std::optional<api::IntOrPercent>& limit) {
  if (!limit) return "none";
  return fmt::format("{}{}", limit->value, limit->percent ? "%" : "");
}

}  // namespace

void read_audit(api::StrictObject& object, Audit& target) {
  read_sinks(object, target);
  object.with("file", [&](api::StrictObject& file) {
    file.read("path", target.path);
    read_size(file, "maxSize", target.max_size);
    file.read("maxFiles", target.max_files);
  });
  object.read_duration("fsyncInterval", target.fsync_interval);
  object.read("bufferSize", target.buffer_size);
  object.read("onFailure", kOnAuditFailure, target.on_failure);
}

void check_audit(const Audit& config, api::FieldErrors& errors) {
  const auto require = [&](bool holds, const char* path, std::string message) {
    if (!holds) errors.push_back({path, std::move(message)});
  };
  require(!config.path.empty() && config.path.back() != '/', "audit.file.path", "must be the path of a file");
  require(config.max_size >= (1 << 20) && config.max_size <= (std::int64_t{1} << 40), "audit.file.maxSize",
          "must be from 1Mi to 1Ti");
  require(config.max_files >= 1 && config.max_files <= 10'000, "audit.file.maxFiles", "must be from 1 to 10000");
  require(config.fsync_interval >= base::Duration::zero() && config.fsync_interval <= base::minutes(10),
          "audit.fsyncInterval", "must be from 0s (every record) to 10m");
  require(config.buffer_size >= 10 && config.buffer_size <= 10'000'000, "audit.bufferSize",
          "must be from 10 to 10000000");
  require(config.on_failure == OnFailure::kContinue || config.to_file || config.to_stdout, "audit.onFailure",
          "StopAdmissions requires a sink: set audit.sinks");
}

std::unique_ptr<audit::Log> open_audit_log(const Audit& config, const std::string& identity, const base::Clock& clock,
                                           base::Metrics& metrics, const base::Log& log, const base::Clock* steady) {
  std::vector<std::unique_ptr<audit::Sink>> sinks;
  if (config.to_file) {
    const auto rotated = [log](const std::string& file, const audit::Head& head) {
      log.info("rotated the audit file", {base::kv("file", file), base::kv("seq", static_cast<std::int64_t>(head.seq)),
                                          base::kv("hash", head.hash)});
    };
    sinks.push_back(std::make_unique<audit::FileSink>(
        audit::FileOptions{config.path, static_cast<std::size_t>(config.max_size), config.max_files}, rotated));
  }
  if (config.to_stdout) sinks.push_back(std::make_unique<audit::StdoutSink>());
  return std::make_unique<audit::Log>(std::move(sinks),
                                      audit::LogOptions{.actor = "evacuator/" + identity,
                                                        .buffer = static_cast<std::size_t>(config.buffer_size),
                                                        .sync_every = config.fsync_interval},
                                      clock, metrics, log, steady);
}

audit::Record record_of_configuration(const OperatorConfig& config, const std::string& file, const std::string& text) {
  audit::Record record;
  record.action = "ConfigurationLoaded";
  record.object = {"Configuration", "", file, ""};
  record.decision = audit::decision::kNoted;
  record.reason = file.empty() ? "Defaults" : "File";
  record.detail = {{"version", EVACUATOR_VERSION},
                   {"limits.inFlight.total", limit_text(config.in_flight.total)},
                   {"limits.inFlight.perNode", limit_text(config.in_flight.per_node)},
                   {"limits.inFlight.perNamespace", limit_text(config.in_flight.per_namespace)},
                   {"limits.inFlight.perWorkload", limit_text(config.in_flight.per_workload)},
                   {"limits.inFlight.perTargetNode", limit_text(config.in_flight.per_target_node)},
                   {"limits.inFlight.perZone", limit_text(config.in_flight.per_zone)},
                   {"limits.rate", rate_text(config.rate)},
                   {"limits.cooldown.virtualMachine", duration_text(config.cooldown.virtual_machine)},
                   {"limits.cooldown.pod", duration_text(config.cooldown.pod)},
                   {"limits.cooldown.workload", duration_text(config.cooldown.workload)},
                   {"limits.cooldown.maximum", base::format_duration(config.cooldown.maximum)},
                   {"limits.cooldown.window", base::format_duration(config.cooldown.window)},
                   {"audit.onFailure", std::string(api::name_of(kOnAuditFailure, config.audit.on_failure))}};
  if (!file.empty()) record.detail["sha256"] = crypto::sha256(text);
  return record;
}

audit::Record record_of_leadership(const OperatorConfig& config, bool acquired) {
  audit::Record record;
  record.action = acquired ? "LeadershipAcquired" : "LeadershipLost";
  record.object = {"Lease", config.leader_election.ns, config.leader_election.name, ""};
  record.decision = audit::decision::kNoted;
  record.reason = config.leader_election.enabled ? "LeaderElection" : "NoLeaderElection";
  return record;
}

}  // namespace controllers
