#include "controllers/advice/advice_config.hpp"

#include <array>
#include <string>

#include "api/core/selector_codec.hpp"

namespace controllers {
namespace {

using advisor::Profile;

const std::array kProfiles = {api::WireName<Profile>{Profile::kCore, advisor::to_string(Profile::kCore)},
                              api::WireName<Profile>{Profile::kStandard, advisor::to_string(Profile::kStandard)},
                              api::WireName<Profile>{Profile::kPercentile, advisor::to_string(Profile::kPercentile)}};

/// Named although only one exists, so that adding another does not change the meaning of existing files.
enum class AdviceSource { kMetricsServer };
constexpr std::array kSources = {api::WireName<AdviceSource>{AdviceSource::kMetricsServer, "MetricsServer"}};

}  // namespace

void read_resource_advice(api::StrictObject& object, ResourceAdviceConfig& target) {
  AdviceSource source{};
  object.read("enabled", target.enabled);
  object.read("source", kSources, source);
  object.read("profile", kProfiles, target.profile);
  object.read("percentile", target.percentile);
  object.read_duration("interval", target.interval);
  object.read_duration("sampleInterval", target.sample_interval);
  object.read_duration("startup", target.startup);
  api::read_label_selector(object, "namespaceSelector", target.namespaces);
  object.read("maxWorkloads", target.max_workloads);
}

void check_resource_advice(const ResourceAdviceConfig& config, api::FieldErrors& errors) {
  const api::FieldPath at("resourceAdvice");
  const auto require = [&](bool holds, const char* field, std::string message) {
    if (!holds) errors.push_back({at.field(field).text(), std::move(message)});
  };
  require(config.percentile > 0 && config.percentile <= 100, "percentile", "must be above 0 and at most 100");
  require(config.interval >= base::minutes(5) && config.interval <= std::chrono::hours(24), "interval",
          "must be from 5m to 24h");
  require(config.sample_interval >= base::seconds(15) && config.sample_interval <= base::minutes(15), "sampleInterval",
          "must be from 15s to 15m");
  require(config.sample_interval <= config.interval, "sampleInterval", "must not be longer than interval");
  require(config.startup >= base::Duration::zero() && config.startup <= std::chrono::hours(1), "startup",
          "must be from 0s to 1h");
  require(config.max_workloads >= 1 && config.max_workloads <= 5000, "maxWorkloads", "must be from 1 to 5000");
}

}  // namespace controllers
