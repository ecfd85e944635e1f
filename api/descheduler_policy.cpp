#include "api/descheduler_policy.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/core/selector_codec.hpp"
#include "api/descheduler_policy/evictability.hpp"
#include "api/descheduler_policy/status.hpp"
#include "api/evacuation_parts.hpp"
#include "api/meta/well_known.hpp"
#include "api/policy/scheduler_version.hpp"

namespace api {

template <>
inline constexpr auto kFields<EvacuationTemplate> =
    std::tuple_cat(kSharedFields<EvacuationTemplate>, std::tuple{field("hooks", &EvacuationTemplate::hooks)});

template <>
inline constexpr auto kFields<CircuitBreaker> = std::tuple{always("failures", &CircuitBreaker::failures)};

template <>
inline constexpr auto kFields<ExplainSettings> = std::tuple{always("cycles", &ExplainSettings::cycles)};

namespace {

void read_scoring_type(StrictObject& object, std::optional<ScoringStrategyType>& target) {
  if (object.find("type") == nullptr) return object.complain("type", "is required");
  ScoringStrategyType type{};
  const std::size_t before = object.errors().size();
  object.read("type", kScoringNames, type);
  if (object.errors().size() == before) target = type;
}

/// Reads `version`: "Auto", which leaves `minor` absent, or "1.20" to "1.36". Reports any other value.
void read_scheduler_version(StrictObject& object, std::optional<int>& minor) {
  std::string text = "Auto";
  const std::size_t before = object.errors().size();
  object.read("version", text);
  if (text == "Auto" || object.errors().size() > before) return;
  for (int known = kOldestSchedulerMinor; known <= kNewestSchedulerMinor; ++known) {
    if (text != fmt::format("1.{}", known)) continue;
    minor = known;
    return;
  }
  object.complain("version", fmt::format("\"{}\" is not Auto or one of 1.{} to 1.{}", text, kOldestSchedulerMinor,
                                         kNewestSchedulerMinor));
}

StrategyChoice read_strategy(const Json& json, const FieldPath& path, FieldErrors& errors) {
  StrategyChoice choice{"", "{}"};
  StrictObject object(json, path, errors);
  object.read("name", choice.name);
  if (const Json* args = object.find("args")) {
    if (args->is_object()) {
      choice.args_json = to_json_text(*args);
    } else {
      object.complain("args", fmt::format("must be an object, not {}", kind_of(*args)));
    }
  }
  object.finish();
  return choice;
}

}  // namespace

DeschedulerPolicySpec read_policy_spec(const Json& json, FieldErrors& errors) {
  DeschedulerPolicySpec spec;
  StrictObject object(json, FieldPath("spec"), errors);
  object.read("mode", kModeNames, spec.mode);
  object.read("suspend", spec.suspend);
  object.with("schedule", [&](StrictObject& schedule) { read_schedule(schedule, spec.schedule); });
  read_label_selector(object, "nodeSelector", spec.node_selector, true);
  object.read("compatibility", kCompatibilityNames, spec.compatibility);
  object.with("scheduler", [&](StrictObject& scheduler) {
    read_scheduler_version(scheduler, spec.scheduler.minor_version);
    const std::size_t before = errors.size();
    scheduler.with("scoringStrategy", [&](StrictObject& scoring) {
      if (errors.size() == before) read_scoring_type(scoring, spec.scheduler.scoring);
    });
  });
  object.with("evictability", [&](StrictObject& evictability) { read_evictability(evictability, spec.evictability); });
  object.for_each("strategies", [&](const Json& item, const FieldPath& path) {
    spec.strategies.push_back(read_strategy(item, path, errors));
  });
  object.with("limits", [&](StrictObject& limits) { read_limits(limits, spec.limits); });
  read_member(object, "evacuation", spec.evacuation);
  read_member(object, "circuitBreaker", spec.circuit_breaker);
  read_member(object, "explain", spec.explain);
  object.for_each("usageSources", [&](const Json& item, const FieldPath& path) {
    spec.usage_sources.push_back(read_usage_source(item, path, errors));
  });
  object.for_each(
      "gates", [&](const Json& item, const FieldPath& path) { spec.gates.push_back(read_gate(item, path, errors)); });
  object.with("convergence", [&](StrictObject& convergence) { read_convergence(convergence, spec.convergence); });
  object.finish();
  return spec;
}

std::string_view to_string(PolicyMode mode) { return name_of(kModeNames, mode); }
std::string_view to_string(PodProtection protection) { return name_of(kProtectionNames, protection); }
std::string_view to_string(AutoscalerAnnotations annotations) {
  return name_of(kAutoscalerAnnotationsNames, annotations);
}
std::string_view to_string(NodeFitLevel level) { return name_of(kNodeFitLevelNames, level); }
std::string_view to_string(Compatibility compatibility) { return name_of(kCompatibilityNames, compatibility); }
std::string_view to_string(ScoringStrategyType type) { return name_of(kScoringNames, type); }
std::string_view to_string(NoEvictionPolicy policy) { return name_of(kNoEvictionNames, policy); }

std::optional<PodProtection> parse_pod_protection(std::string_view text) { return value_of(kProtectionNames, text); }

base::Result<DeschedulerPolicy> decode_descheduler_policy(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return json.error().during("decoding a DeschedulerPolicy");
  return decode_descheduler_policy(*json);
}

base::Result<DeschedulerPolicy> decode_descheduler_policy(const Json& json) {
  return decode_own_kind<DeschedulerPolicy>(json, "a DeschedulerPolicy", read_policy_spec, policy_status_of);
}

base::Result<DeschedulerPolicy> decode_stored_descheduler_policy(const Json& json) {
  auto decoded = decode_descheduler_policy(json);
  if (decoded || !json.is_object()) return decoded;
  Json rest = json;
  rest["spec"] = lenient::readable_spec(json.value("spec", Json()), Json::object(), [](const Json& spec) {
    Json probe = Json::object();
    probe["spec"] = spec;
    return decode_descheduler_policy(probe).ok();
  });
  auto readable = decode_descheduler_policy(rest);
  if (readable) readable->spec_problem = decoded.error().message;
  return readable;
}

Json encode_spec(const DeschedulerPolicySpec& spec) {
  Json json = {{"mode", to_string(spec.mode)},
               {"suspend", spec.suspend},
               {"compatibility", to_string(spec.compatibility)},
               {"schedule", encode_schedule(spec.schedule)},
               {"evictability", encode_evictability(spec.evictability)}};
  if (spec.node_selector) json["nodeSelector"] = encode_label_selector(*spec.node_selector);
  if (spec.scheduler.scoring) json["scheduler"]["scoringStrategy"]["type"] = to_string(*spec.scheduler.scoring);
  if (spec.scheduler.minor_version) json["scheduler"]["version"] = fmt::format("1.{}", *spec.scheduler.minor_version);
  for (const StrategyChoice& choice : spec.strategies) {
    Json strategy = {{"name", choice.name}};
    auto args = parse_json(choice.args_json);
    strategy["args"] = args && args->is_object() ? *std::move(args) : Json::object();
    json["strategies"].push_back(std::move(strategy));
  }
  if (spec.limits != PolicyLimits{}) json["limits"] = encode_limits(spec.limits);
  json["evacuation"] = encode(spec.evacuation);
  json["circuitBreaker"] = encode(spec.circuit_breaker);
  json["explain"] = encode(spec.explain);
  for (const UsageSource& source : spec.usage_sources) json["usageSources"].push_back(encode_usage_source(source));
  for (const PolicyGate& gate : spec.gates) json["gates"].push_back(encode_gate(gate));
  json["convergence"] = encode_convergence(spec.convergence);
  return json;
}

Json encode_descheduler_policy(const DeschedulerPolicy& policy) {
  return {{"apiVersion", well_known::kApiVersion},
          {"kind", "DeschedulerPolicy"},
          {"metadata", encode_meta(policy.meta)},
          {"spec", encode_spec(policy.spec)}};
}

}  // namespace api
