#include "controllers/policy/spec_problems.hpp"

#include <algorithm>
#include <iterator>

#include "controllers/policy/schedule/schedule.hpp"
#include "controllers/policy/usage/wanted.hpp"
#include "usage/presets.hpp"

namespace controllers {
namespace {

api::FieldErrors problems_of(const std::vector<api::UsageSource>& sources) {
  api::FieldErrors errors;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string at = api::FieldPath("spec.usageSources").index(i).text();
    for (const api::FieldError& each : usage::problems(sources[i]))
      errors.push_back({each.path.empty() ? at : at + "." + each.path, each.message});
  }
  return errors;
}

api::FieldErrors problems_of(const std::vector<api::PolicyGate>& gates) {
  api::FieldErrors errors;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const api::FieldPath block = api::FieldPath("spec.gates").index(i).field(to_string(gates[i].type));
    std::ranges::move(usage::url_problems(gates[i].endpoint, block.field("url")), std::back_inserter(errors));
  }
  return errors;
}

/// Triggers that name a usage source that the policy does not have.
api::FieldErrors unmet_triggers(const api::DeschedulerPolicySpec& spec) {
  api::FieldErrors errors;
  const auto& triggers = spec.schedule.triggers;
  for (std::size_t i = 0; i < triggers.size(); ++i) {
    const std::string& source = triggers[i].source;
    if (source.empty() ||
        std::ranges::find(spec.usage_sources, source, &api::UsageSource::name) != spec.usage_sources.end())
      continue;
    errors.push_back({api::FieldPath("spec.schedule.triggers").index(i).field("source").text(),
                      "there is no source \"" + source + "\" in spec.usageSources"});
  }
  return errors;
}

}  // namespace

api::FieldErrors problems_of(const api::DeschedulerPolicySpec& spec, const evictors::EvictorRegistry& registry) {
  return problems_of(spec, strategies::parse_strategies(spec.strategies), registry);
}

api::FieldErrors problems_of(const api::DeschedulerPolicySpec& spec, const strategies::StrategySpecs& strategies,
                             const evictors::EvictorRegistry& registry) {
  api::FieldErrors errors = api::validate(spec, registry.names());
  api::append_new_fields(errors, schedule_problems(spec.schedule, api::FieldPath("spec.schedule")));
  api::append_new_fields(errors, unmet_triggers(spec));
  api::append_new_fields(errors, strategies.problems());
  api::append_new_fields(errors, problems_of(spec.usage_sources));
  api::append_new_fields(errors, problems_of(spec.gates));
  api::append_new_fields(errors, unmet_usage(spec.usage_sources, strategies.usage_needs()));
  api::append_new_fields(errors,
                         registry.validate(spec.evacuation.evictors, api::FieldPath("spec.evacuation.evictors")));
  return errors;
}

}  // namespace controllers
