#include <algorithm>

#include <fmt/format.h>

#include "api/json/json_access.hpp"
#include "simulator/api/core.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/registry/selection.hpp"

/// POST pods/<name>/eviction, with Kubernetes' order of checks and responses (wire-protocols.md#eviction-order).

namespace simulator {
namespace {

using api::Json;

constexpr std::size_t kMaxDisruptedPods = 2000;
constexpr const char* kWouldViolate = "Cannot evict pod as it would violate the pod's disruption budget.";
constexpr const char* kMoreThanOne =
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";

/// Returns 429 with the cause DisruptionBudget. `retry_seconds` 0 sends no Retry-After.
Failure budget_refusal(const std::string& cause, int retry_seconds) {
  Json details = {{"causes", Json::array({{{"reason", "DisruptionBudget"}, {"message", cause}}})}};
  Failure failure{429, "TooManyRequests", kWouldViolate, std::move(details)};
  if (retry_seconds > 0) {
    failure.details["retryAfterSeconds"] = retry_seconds;
    failure.retry_after = base::seconds(retry_seconds);
  }
  return failure;
}

Failure still_processed(const std::string& pdb) {
  return budget_refusal(fmt::format("The disruption budget {} is still being processed by the server.", pdb), 10);
}

Failure broken_budget(const std::string& pdb, std::string_view why) {
  return forbidden("policy", "poddisruptionbudget", pdb, why);
}

/// Returns why disruptionsAllowed is 0.
std::string exhausted_cause(const Json& pdb, const std::string& name) {
  if (condition_value(pdb, "DisruptionAllowed", "reason") == "SyncFailed") {
    return fmt::format("The disruption budget {} does not allow evicting pods currently because it failed sync: {}",
                       name, condition_value(pdb, "DisruptionAllowed", "message"));
  }
  const std::int64_t desired = api::number_at(pdb, {"status", "desiredHealthy"}).value_or(0);
  const std::int64_t healthy = api::number_at(pdb, {"status", "currentHealthy"}).value_or(0);
  if (healthy <= desired)
    return fmt::format("The disruption budget {} needs {} healthy pods and has {} currently", name, desired, healthy);
  return fmt::format("The disruption budget {} does not allow evicting pods currently", name);
}

std::optional<Failure> refusal_of(const Json& pdb) {
  const std::string name = api::text_at(pdb, {"metadata", "name"});
  if (api::number_at(pdb, {"status", "observedGeneration"}).value_or(0) <
      api::number_at(pdb, {"metadata", "generation"}).value_or(0))
    return still_processed(name);
  const std::int64_t allowed = api::number_at(pdb, {"status", "disruptionsAllowed"}).value_or(0);
  if (allowed < 0) return broken_budget(name, "pdb disruptions allowed is negative");
  const Json* disrupted = api::find_at(pdb, {"status", "disruptedPods"});
  if (disrupted && disrupted->is_object() && disrupted->size() > kMaxDisruptedPods) {
    return broken_budget(name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller");
  }
  if (allowed == 0) return budget_refusal(exhausted_cause(pdb, name), 0);
  return std::nullopt;
}

/// A single atomic step, so the server's conflict retries are never exhausted.
CheckResult check_and_decrement(ApiCore& core, const std::string& pod, const Json& pdb, bool dry_run) {
  if (dry_run) {
    if (auto refusal = refusal_of(pdb)) return *std::move(refusal);
    return base::Done{};
  }
  const api::ObjectKey key = key_of(pdb);
  const std::string now = base::format_time(core.store.clock().now());
  std::optional<Failure> refusal;
  auto done = core.store.mutate(kube::kPdbs, key, Part::kStatus, [&](Json& object) -> base::Status {
    refusal = refusal_of(object);
    if (refusal) return base::invalid("refused");
    Json& status = object_in(object, "status");
    const std::int64_t left = api::number_at(status, {"disruptionsAllowed"}).value_or(0) - 1;
    status["disruptionsAllowed"] = left;
    if (left == 0) {
      put_condition(status, {{"type", "DisruptionAllowed"},
                             {"status", "False"},
                             {"reason", "InsufficientPods"},
                             {"message", ""},
                             {"observedGeneration", api::number_at(object, {"metadata", "generation"}).value_or(0)},
                             {"lastTransitionTime", now}});
    }
    object_in(status, "disruptedPods")[pod] = now;
    return base::Done{};
  });
  if (refusal) return *std::move(refusal);
  if (!done) return from_store(done.error(), "policy", "poddisruptionbudgets", "PodDisruptionBudget", key.name);
  return base::Done{};
}

bool ignores_budgets(const PodFacts& pod) { return pod.phase == "Pending" || !pod.is_active(); }

std::vector<Object> budgets_of(ApiCore& core, const Json& pod) {
  const Json* labels = api::find_at(pod, {"metadata", "labels"});
  if (!labels || !labels->is_object() || labels->empty()) return {};  // Kubernetes skips the lookup, too
  std::vector<Object> found = core.store.list(kube::kPdbs, api::text_at(pod, {"metadata", "namespace"}));
  std::erase_if(found, [&](const Object& pdb) {
    const Json* selector = api::find_at(*pdb, {"spec", "selector"});
    if (!selector || !selector->is_object()) return true;
    const Json* terms = api::find_at(*selector, {"matchLabels"});
    const Json* expressions = api::find_at(*selector, {"matchExpressions"});
    const bool empty = (!terms || terms->empty()) && (!expressions || expressions->empty());
    if (empty)
      return core.options.policy ==
             PolicyVersion::kV1beta1;  // an empty selector matches all pods in policy/v1 and none in v1beta1
    return !label_selector_matches(*selector, labels);
  });
  return found;
}

std::optional<Failure> check_pod(const Json& pod, const Preconditions& expected) {
  const auto unmet = unmet_precondition(expected, pod);
  return unmet ? std::optional(conflict("", "Pod", key_of(pod).name, *unmet)) : std::nullopt;
}

/// Sets the pod's condition and deletes the pod. Each step checks the preconditions.
CheckResult mark_and_delete(ApiCore& core, const api::ObjectKey& key, DeleteOptions options) {
  const Object pod = core.store.get(kube::kPods, key);
  if (!pod) return not_found("", "pods", key.name);
  if (options.dry_run) {
    if (auto failed = check_pod(*pod, options.preconditions)) return *std::move(failed);
    return base::Done{};
  }
  if (core.options.policy == PolicyVersion::kV1) {  // servers before 1.25 set no condition
    const std::string now = base::format_time(core.store.clock().now());
    std::optional<Failure> failed;
    auto marked = core.store.mutate(kube::kPods, key, Part::kStatus, [&](Json& object) -> base::Status {
      failed = check_pod(object, options.preconditions);
      if (failed) return base::invalid("refused");
      put_condition(object_in(object, "status"), {{"type", "DisruptionTarget"},
                                                  {"status", "True"},
                                                  {"reason", "EvictionByEvictionAPI"},
                                                  {"message", "Eviction API: evicting"},
                                                  {"lastProbeTime", nullptr},
                                                  {"lastTransitionTime", now}});
      return base::Done{};
    });
    if (failed) return *std::move(failed);
    if (!marked) return from_store(marked.error(), "", "pods", "Pod", key.name);
    if (!options.preconditions.resource_version.empty()) {  // the status update above changed it
      options.preconditions.resource_version = api::text_at(**marked, {"metadata", "resourceVersion"});
    }
  }
  auto removed = core.store.remove(kube::kPods, key, options.preconditions, options.grace_seconds);
  if (removed) return base::Done{};
  return from_store(removed.error(), "", removed.error().code == base::ErrorCode::kConflict ? "Pod" : "pods", "Pod",
                    key.name);
}

/// Returns true if an unready pod may be evicted without consulting its budget.
bool passes_unready(const Json& pdb) {
  if (api::text_at(pdb, {"spec", "unhealthyPodEvictionPolicy"}) == "AlwaysAllow") return true;
  const std::int64_t desired = api::number_at(pdb, {"status", "desiredHealthy"}).value_or(0);
  return api::number_at(pdb, {"status", "currentHealthy"}).value_or(0) >= desired && desired > 0;
}

/// Deletes a pod that is pending, finished or terminating without consulting budgets.
CheckResult delete_ignoring_budgets(ApiCore& core, const Json& pod, DeleteOptions options) {
  const bool guard = api::text_at(pod, {"status", "phase"}) == "Pending" && !is_terminating(pod);
  if (guard && options.preconditions.resource_version.empty())
    options.preconditions.resource_version = api::text_at(pod, {"metadata", "resourceVersion"});
  return mark_and_delete(core, key_of(pod), std::move(options));
}

CheckResult delete_within_budget(ApiCore& core, const Json& pod, DeleteOptions options) {
  const api::ObjectKey key = key_of(pod);
  const std::vector<Object> budgets = budgets_of(core, pod);
  if (budgets.size() > 1) return Failure{500, "", kMoreThanOne, nullptr};
  const bool guard = budgets.size() == 1 && !facts_of(pod).ready && passes_unready(*budgets[0]);
  if (budgets.size() == 1 && !guard) {
    if (CheckResult spent = check_and_decrement(core, key.name, *budgets[0], options.dry_run); !spent) return spent;
  }
  const bool guarded_by_us = guard && options.preconditions.resource_version.empty();
  if (guard) options.preconditions.resource_version = api::text_at(pod, {"metadata", "resourceVersion"});
  CheckResult done = mark_and_delete(core, key, std::move(options));
  if (!done && done.failure().code == 409 && guarded_by_us)
    return still_processed(api::text_at(*budgets[0], {"metadata", "name"}));
  return done;
}

CheckResult check_eviction(const ApiCore& core, const Call& call, const Json& eviction) {
  const std::string version = api::text_at(eviction, {"apiVersion"});
  const std::string kind = api::text_at(eviction, {"kind"});
  if (!kind.empty() && kind != "Eviction") {
    return bad_request(fmt::format("the object provided is unrecognized (must be of type Eviction): got {}", kind));
  }
  const bool known = version.empty() || version == "policy/v1beta1" ||
                     (version == "policy/v1" && core.options.policy == PolicyVersion::kV1);
  if (!known)
    return bad_request(fmt::format("no kind \"Eviction\" is registered for version \"{}\" in scheme", version));
  if (api::text_at(eviction, {"metadata", "name"}) != call.info.name)
    return bad_request("name in URL does not match name in Eviction object");
  const std::string ns = api::text_at(eviction, {"metadata", "namespace"});
  if (!ns.empty() && ns != call.info.ns) {
    return bad_request("the namespace of the provided object does not match the namespace sent on the request");
  }
  return base::Done{};
}

/// Returns deleteOptions of the body combined with dryRun of the query, which must not contradict them.
Outcome<DeleteOptions> eviction_options(const Call& call, const Json& eviction) {
  const Json* body = api::find_at(eviction, {"deleteOptions"});
  auto options = read_delete_options(body && body->is_object() ? *body : Json(Json::object()));
  if (!options) return options;
  const bool body_has_dry_run = body && api::find_at(*body, {"dryRun"}) && !api::find_at(*body, {"dryRun"})->empty();
  if (call.dry_run && body_has_dry_run && !options->dry_run) {
    return bad_request("Non-matching dry-run options in request and content");
  }
  options->dry_run = options->dry_run || call.dry_run;
  return options;
}

CheckResult evict(ApiCore& core, Call& call, const Json& eviction) {
  if (CheckResult sound = check_eviction(core, call, eviction); !sound) return sound;
  if (CheckResult open = check_namespace(core, call, call.info.name); !open) return open;
  auto options = eviction_options(call, eviction);
  if (!options) return std::move(options.failure());
  call.uid = options->preconditions.uid;  // the requested UID, for the journal of a webhook denial
  if (CheckResult allowed = admit(core, call, "create", &eviction, nullptr); !allowed) return allowed;
  const Object pod = core.store.get(kube::kPods, call.key());
  if (!pod) return not_found("", "pods", call.info.name);
  call.uid = api::text_at(*pod, {"metadata", "uid"});
  call.dry_run = options->dry_run;
  if (ignores_budgets(facts_of(*pod))) return delete_ignoring_budgets(core, *pod, *std::move(options));
  return delete_within_budget(core, *pod, *std::move(options));
}

}  // namespace

kube::Response evict_pod(ApiCore& core, Call& call) {
  auto eviction = read_body(call);
  if (!eviction) return to_response(eviction.failure());
  if (CheckResult done = evict(core, call, *eviction); !done) return to_response(done.failure());
  return created_status();
}

}  // namespace simulator
