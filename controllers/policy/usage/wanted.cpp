#include "controllers/policy/usage/wanted.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace controllers {
namespace {

using api::UsageSource;
using api::UsageSourceType;
using scheduling::UsageNeed;

const UsageSource* first_of(const std::vector<UsageSource>& sources, UsageSourceType type) {
  const auto found = std::ranges::find(sources, type, &UsageSource::type);
  return found == sources.end() ? nullptr : &*found;
}

const UsageSource* source_for(const std::vector<UsageSource>& sources, const UsageNeed& need) {
  if (need.metrics_server) return first_of(sources, UsageSourceType::kMetricsServer);
  if (!need.query.empty()) return first_of(sources, UsageSourceType::kPrometheus);
  const auto found = std::ranges::find(sources, need.source, &UsageSource::name);
  return found == sources.end() ? nullptr : &*found;
}

UsageSource with_query(UsageSource source, const std::string& query) {
  source.queries = {
      {scheduling::kMetricResource, api::UsageOf::kNode, "", query, api::UsageUnit::kFraction, "", "", ""}};
  source.smoothing.method = api::SmoothingMethod::kLatest;
  source.forecast.reset();
  return source;
}

/// A Prometheus source without queries only serves metricsUtilization and gates.
bool has_columns(const UsageSource& source) {
  return source.type != UsageSourceType::kPrometheus || !source.queries.empty();
}

std::string complaint_about(const UsageNeed& need) {
  if (need.metrics_server) return "metricsUtilization requires a source of type MetricsServer in spec.usageSources";
  if (!need.query.empty()) return "metricsUtilization requires a source of type Prometheus in spec.usageSources";
  return fmt::format("there is no source \"{}\" in spec.usageSources", need.source);
}

}  // namespace

std::vector<WantedUsage> wanted_usage(const std::vector<UsageSource>& sources, const std::vector<UsageNeed>& needs) {
  std::vector<WantedUsage> wanted;
  for (const UsageSource& source : sources) {
    if (has_columns(source)) wanted.push_back({source.name, source});
  }
  for (const UsageNeed& need : needs) {
    const UsageSource* source = source_for(sources, need);
    if (source == nullptr || need.key() == need.source) continue;
    wanted.push_back({need.key(), need.query.empty() ? *source : with_query(*source, need.query)});
  }
  return wanted;
}

api::FieldErrors unmet_usage(const std::vector<UsageSource>& sources, const std::vector<UsageNeed>& needs) {
  api::FieldErrors errors;
  for (const UsageNeed& need : needs) {
    const UsageSource* source = source_for(sources, need);
    if (source == nullptr) {
      errors.push_back({"spec.strategies", complaint_about(need)});
    } else if (need.key() == need.source && !has_columns(*source)) {
      errors.push_back(
          {"spec.usageSources", fmt::format("\"{}\" has no queries, which a strategy requires", source->name)});
    }
  }
  return errors;
}

}  // namespace controllers
