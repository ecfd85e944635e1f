#include "api/descheduler_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/core/selector_codec.hpp"
#include "api/decision_row.hpp"
#include "api/evacuation_parts.hpp"
#include "api/json/lenient.hpp"
#include "api/meta/well_known.hpp"
#include "api/policy/scheduler_version.hpp"
#include "api/policy_history.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/wire_names.hpp"

namespace api {
namespace {

void read_priority_threshold(StrictObject& object, std::optional<PriorityThreshold>& target) {
  object.with("priorityThreshold", [&](StrictObject& json) {
    PriorityThreshold threshold;
    json.read("value", threshold.value);
    json.read("name", threshold.name);
    target = std::move(threshold);
  });
}

void read_protection_list(StrictObject& object, std::string_view name, std::vector<PodProtection>& to) {
  object.for_each(name, [&](const Json& item, const FieldPath& path) {
    const auto text = item.is_string() ? item.get<std::string>() : std::string();
    if (const auto protection = parse_pod_protection(text)) return to.push_back(*protection);
    const auto valid = all_names(kProtectionNames);
    object.errors().push_back({path.text(), fmt::format("{} is not one of {}{}", to_json_text(item),
                                                        join_alternatives(valid), did_you_mean(text, valid))});
  });
}

void read_protections(StrictObject& object, PodProtections& protections) {
  read_protection_list(object, "defaultDisabled", protections.default_disabled);
  read_protection_list(object, "extraEnabled", protections.extra_enabled);
  object.with("config", [&](StrictObject& config) {
    config.with("PodsWithPVC", [&](StrictObject& pvc) {
      pvc.for_each("protectedStorageClasses", [&](const Json& item, const FieldPath& path) {
        StrictObject storage_class(item, path, pvc.errors());
        storage_class.read("name", protections.protected_storage_classes.emplace_back());
        storage_class.finish();
      });
    });
  });
}

/// true and false, as upstream writes it, or an object: {level: Basic}.
void read_node_fit(StrictObject& object, Evictability& evictability) {
  const Json* json = object.find("nodeFit");
  if (json == nullptr || json->is_boolean()) return object.read("nodeFit", evictability.node_fit);
  if (!json->is_object()) {
    return object.complain("nodeFit", fmt::format("must be a boolean or an object, not {}", kind_of(*json)));
  }
  evictability.node_fit = true;
  object.with("nodeFit", [&](StrictObject& fit) {
    NodeFitLevel level = NodeFitLevel::kScheduler;
    fit.read("level", kNodeFitLevelNames, level);
    evictability.node_fit_level = level;
  });
}

void read_evictability(StrictObject& object, Evictability& evictability) {
  read_node_fit(object, evictability);
  read_label_selector(object, "nodeSelector", evictability.node_selector, true);
  object.read("minReplicas", evictability.min_replicas);
  object.read_duration("minPodAge", evictability.min_pod_age);
  read_priority_threshold(object, evictability.priority_threshold);
  read_label_selector(object, "labelSelector", evictability.label_selector);
  read_label_selector(object, "namespaceLabelSelector", evictability.namespace_label_selector);
  object.with("namespaces", [&](StrictObject& namespaces) {
    namespaces.read("include", evictability.namespaces.include);
    namespaces.read("exclude", evictability.namespaces.exclude);
  });
  object.with("podProtections", [&](StrictObject& json) { read_protections(json, evictability.pod_protections); });
  object.read("noEvictionPolicy", kNoEvictionNames, evictability.no_eviction_policy);
  object.for_each("optOuts", [&](const Json& item, const FieldPath& path) {
    StrictObject json(item, path, object.errors());
    OptOut& opt_out = evictability.opt_outs.emplace_back();
    json.read("annotation", opt_out.annotation);
    json.read_duration("maxDuration", opt_out.max_duration);
    json.finish();
  });
  if (object.find("autoscalerAnnotations") != nullptr) {
    evictability.autoscaler_annotations = AutoscalerAnnotations::kRespect;
    object.read("autoscalerAnnotations", kAutoscalerAnnotationsNames, *evictability.autoscaler_annotations);
  }
}

void read_scoring_type(StrictObject& object, std::optional<ScoringStrategyType>& target) {
  if (object.find("type") == nullptr) return object.complain("type", "is required");
  ScoringStrategyType type{};
  const std::size_t before = object.errors().size();
  object.read("type", kScoringNames, type);
  if (object.errors().size() == before) target = type;
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

LastCycle last_cycle_of(const Json& json) {
  LastCycle cycle;
  cycle.id = lenient::text(json, "id");
  cycle.start = lenient::time_or_epoch(json, "start");
  const auto duration = base::parse_duration(lenient::text(json, "duration"));
  cycle.duration = std::chrono::duration_cast<base::milliseconds>(duration.value_or(base::Duration::zero()));
  cycle.nodes = lenient::small_integer(json, "nodes");
  cycle.pods = lenient::small_integer(json, "pods");
  cycle.nominated = lenient::small_integer(json, "nominated");
  cycle.created = lenient::small_integer(json, "created");
  cycle.waves = lenient::small_integer(json, "waves");
  cycle.nodes_freed = lenient::optional_integer(json, "nodesFreed");
  cycle.nodes_bound = lenient::optional_integer(json, "nodesBound");
  cycle.placement_hints = lenient::boolean(json, "placementHints");
  if (const Json* refused = lenient::array(json, "refused")) {
    for (const Json& item : *refused) {
      if (item.is_object())
        cycle.refused.push_back({lenient::text(item, "reason"), lenient::small_integer(item, "count")});
    }
  }
  return cycle;
}

PlannedMove planned_move_of(const Json& json) {
  return {lenient::text(json, "namespace"), lenient::text(json, "pod"),     lenient::text(json, "uid"),
          lenient::text(json, "from"),      lenient::text(json, "to"),      lenient::text(json, "strategy"),
          lenient::text(json, "reason"),    lenient::number(json, "score"), lenient::small_integer(json, "wave"),
          lenient::text(json, "hint")};
}

RefusedPod refused_pod_of(const Json& json) {
  RefusedPod refused;
  read_decision_row(json, refused);
  return refused;
}

CooldownRecord cooldown_record_of(const Json& json) {
  CooldownRecord record{lenient::text(json, "subject"), {}};
  if (const Json* times = lenient::array(json, "times")) {
    for (const Json& item : *times) {
      const auto time = item.is_string() ? base::parse_time(item.get_ref<const std::string&>()) : std::nullopt;
      if (time) record.times.push_back(*time);
    }
  }
  return record;
}

PolicyCircuit circuit_of(const Json& json) {
  return {lenient::small_integer(json, "failures"), lenient::text(json, "lastFailure"), lenient::text(json, "reset"),
          lenient::time(json, "countedUntil"), lenient::time(json, "openedAt")};
}

Json encode_circuit(const PolicyCircuit& circuit) {
  Json json = {{"failures", circuit.failures}};
  put_text(json, "lastFailure", circuit.last_failure);
  put_text(json, "reset", circuit.reset);
  put_time(json, "countedUntil", circuit.counted_until);
  put_time(json, "openedAt", circuit.opened_at);
  return json;
}

DeschedulerPolicyStatus policy_status_of(const Json& json) {
  DeschedulerPolicyStatus status;
  status.observed_generation = lenient::integer(json, "observedGeneration");
  status.conditions = lenient::conditions(json);
  if (const Json* cycle = lenient::object(json, "lastCycle")) status.last_cycle = last_cycle_of(*cycle);
  status.next_cycle_time = lenient::time(json, "nextCycleTime");
  status.active = lenient::small_integer(json, "active");
  status.evicted = lenient::integer(json, "evicted");
  status.evicted_counted = lenient::integer(json, "evictedCounted");
  status.evicted_until = lenient::time(json, "evictedUntil");
  if (const Json* circuit = lenient::object(json, "circuit")) status.circuit = circuit_of(*circuit);
  if (const Json* plan = lenient::array(json, "plan")) {
    for (const Json& item : *plan) {
      if (item.is_object()) status.plan.push_back(planned_move_of(item));
    }
  }
  status.plan_truncated = lenient::boolean(json, "planTruncated");
  if (const Json* refusals = lenient::array(json, "refusals")) {
    for (const Json& item : *refusals) {
      if (item.is_object()) status.refusals.push_back(refused_pod_of(item));
    }
  }
  if (const Json* cooldowns = lenient::array(json, "cooldowns")) {
    for (const Json& item : *cooldowns) {
      if (item.is_object()) status.cooldowns.push_back(cooldown_record_of(item));
    }
  }
  status.restarts = restart_records_of(json);
  status.history = policy_history_of(json);
  status.balance = balance_rows_of(json);
  status.rounds = rounds_status_of(json);
  return status;
}

Json encode_evictability(const Evictability& evictability) {
  Json json = {{"nodeFit", evictability.node_fit},
               {"minReplicas", evictability.min_replicas},
               {"noEvictionPolicy", to_string(evictability.no_eviction_policy)}};
  if (evictability.node_fit && evictability.node_fit_level) {
    json["nodeFit"] = {{"level", to_string(*evictability.node_fit_level)}};
  }
  if (evictability.autoscaler_annotations)
    json["autoscalerAnnotations"] = to_string(*evictability.autoscaler_annotations);
  if (evictability.node_selector) json["nodeSelector"] = encode_label_selector(*evictability.node_selector);
  if (evictability.min_pod_age) json["minPodAge"] = base::format_duration(*evictability.min_pod_age);
  if (const auto& threshold = evictability.priority_threshold) {
    json["priorityThreshold"] = Json::object();
    put_optional(json["priorityThreshold"], "value", threshold->value);
    put_text(json["priorityThreshold"], "name", threshold->name);
  }
  if (evictability.label_selector) json["labelSelector"] = encode_label_selector(*evictability.label_selector);
  if (evictability.namespace_label_selector) {
    json["namespaceLabelSelector"] = encode_label_selector(*evictability.namespace_label_selector);
  }
  if (!evictability.namespaces.include.empty()) json["namespaces"]["include"] = evictability.namespaces.include;
  if (!evictability.namespaces.exclude.empty()) json["namespaces"]["exclude"] = evictability.namespaces.exclude;
  for (const OptOut& each : evictability.opt_outs) {
    json["optOuts"].push_back(
        {{"annotation", each.annotation}, {"maxDuration", base::format_duration(each.max_duration)}});
  }
  const PodProtections& protections = evictability.pod_protections;
  for (const PodProtection p : protections.default_disabled)
    json["podProtections"]["defaultDisabled"].push_back(to_string(p));
  for (const PodProtection p : protections.extra_enabled)
    json["podProtections"]["extraEnabled"].push_back(to_string(p));
  for (const std::string& name : protections.protected_storage_classes) {
    json["podProtections"]["config"]["PodsWithPVC"]["protectedStorageClasses"].push_back({{"name", name}});
  }
  return json;
}

Json encode_last_cycle(const LastCycle& cycle) {
  Json json = {{"id", cycle.id},
               {"start", wire_time(cycle.start)},
               {"duration", base::format_duration(cycle.duration)},
               {"nodes", cycle.nodes},
               {"pods", cycle.pods},
               {"nominated", cycle.nominated},
               {"created", cycle.created}};
  if (cycle.waves > 0) json["waves"] = cycle.waves;
  put_optional(json, "nodesFreed", cycle.nodes_freed);
  put_optional(json, "nodesBound", cycle.nodes_bound);
  if (cycle.placement_hints) json["placementHints"] = true;
  for (const auto& [reason, count] : cycle.refused) json["refused"].push_back({{"reason", reason}, {"count", count}});
  return json;
}

Json encode_planned_move(const PlannedMove& move) {
  Json json = {
      {"namespace", move.ns}, {"pod", move.pod}, {"uid", move.uid}, {"from", move.from}, {"strategy", move.strategy}};
  put_text(json, "to", move.to);
  put_text(json, "reason", move.reason);
  put_optional(json, "score", move.score);
  if (move.wave > 0) json["wave"] = move.wave;
  put_text(json, "hint", move.hint);
  return json;
}

void put_plan(Json& json, const std::vector<PlannedMove>& plan) {
  const std::size_t rows = std::min(plan.size(), kMaxPublishedPlan);
  for (std::size_t i = 0; i < rows; ++i) json["plan"].push_back(encode_planned_move(plan[i]));
}

void put_cooldowns(Json& json, const std::vector<CooldownRecord>& cooldowns) {
  for (const CooldownRecord& record : cooldowns) {
    Json times = Json::array();
    for (const base::TimePoint time : record.times) times.push_back(wire_time(time));
    json["cooldowns"].push_back({{"subject", record.subject}, {"times", std::move(times)}});
  }
}

void put_refusals(Json& json, const std::vector<RefusedPod>& refusals) {
  const std::size_t rows = std::min(refusals.size(), kMaxPublishedRefusals);
  for (std::size_t i = 0; i < rows; ++i) json["refusals"].push_back(encode_refused_pod(refusals[i]));
}

/// Without the lists that are the same in `other`; nullptr: with all.
Json encode_differing(const DeschedulerPolicyStatus& status, const DeschedulerPolicyStatus* other) {
  using Status = DeschedulerPolicyStatus;
  const auto is_news = [&](auto Status::*member) { return other == nullptr || status.*member != other->*member; };
  Json json = {
      {"observedGeneration", status.observed_generation}, {"active", status.active}, {"evicted", status.evicted}};
  if (!status.conditions.empty()) json["conditions"] = encode_conditions(status.conditions);
  if (const Condition* ready = find_condition(status.conditions, ConditionType::kReady))
    json["ready"] = to_string(ready->status);
  if (status.last_cycle) json["lastCycle"] = encode_last_cycle(*status.last_cycle);
  put_time(json, "nextCycleTime", status.next_cycle_time);
  if (status.evicted_counted != 0) json["evictedCounted"] = status.evicted_counted;
  put_time(json, "evictedUntil", status.evicted_until);
  if (status.circuit != PolicyCircuit{}) json["circuit"] = encode_circuit(status.circuit);
  if (is_news(&Status::plan)) put_plan(json, status.plan);
  if (is_news(&Status::cooldowns)) put_cooldowns(json, status.cooldowns);
  if (status.plan_truncated || status.plan.size() > kMaxPublishedPlan) json["planTruncated"] = true;
  if (is_news(&Status::refusals)) put_refusals(json, status.refusals);
  if (is_news(&Status::restarts)) put_restart_records(json, status.restarts);
  if (is_news(&Status::history)) put_policy_history(json, status.history);
  put_balance_rows(json, status.balance);
  put_rounds_status(json, status.rounds);
  return json;
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
  object.with("evacuation", [&](StrictObject& evacuation) {
    read_shared_parts(evacuation, shared_parts(spec.evacuation));
    evacuation.with("hooks", [&](StrictObject& hooks) { read_hooks(hooks, spec.evacuation.hooks); });
  });
  object.with("circuitBreaker",
              [&](StrictObject& breaker) { breaker.read("failures", spec.circuit_breaker.failures); });
  object.with("explain", [&](StrictObject& explain) { explain.read("cycles", spec.explain.cycles); });
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
  if (!json.is_object())
    return base::invalid(fmt::format("a DeschedulerPolicy must be an object, not {}", kind_of(json)));
  FieldErrors errors;
  DeschedulerPolicy policy;
  policy.meta = lenient::meta(json);
  const auto spec = json.find("spec");
  if (spec != json.end()) policy.spec = read_policy_spec(*spec, errors);
  if (!errors.empty()) return to_error(errors);
  if (const Json* status = lenient::object(json, "status")) policy.status = policy_status_of(*status);
  return policy;
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
  Json limits = encode_limits(spec.limits);
  if (!limits.empty()) json["limits"] = std::move(limits);
  json["evacuation"] = Json::object();
  encode_shared_parts(shared_parts(spec.evacuation), json["evacuation"]);
  json["circuitBreaker"]["failures"] = spec.circuit_breaker.failures;
  json["explain"]["cycles"] = spec.explain.cycles;
  for (const UsageSource& source : spec.usage_sources) json["usageSources"].push_back(encode_usage_source(source));
  for (const PolicyGate& gate : spec.gates) json["gates"].push_back(encode_gate(gate));
  json["convergence"] = encode_convergence(spec.convergence);
  if (!spec.evacuation.hooks.empty()) json["evacuation"]["hooks"] = encode_hooks(spec.evacuation.hooks);
  return json;
}

Json encode_refused_pod(const RefusedPod& refused) { return encode_decision_row(refused); }

Json encode_status(const DeschedulerPolicyStatus& status) { return encode_differing(status, nullptr); }

std::pair<Json, Json> encode_change(const DeschedulerPolicyStatus& before, const DeschedulerPolicyStatus& after) {
  return {encode_differing(before, &after), encode_differing(after, &before)};
}

Json encode_descheduler_policy(const DeschedulerPolicy& policy) {
  return {{"apiVersion", well_known::kApiVersion},
          {"kind", "DeschedulerPolicy"},
          {"metadata", encode_meta(policy.meta)},
          {"spec", encode_spec(policy.spec)}};
}

}  // namespace api
