#include "controllers/operator/parts.hpp"

#include <algorithm>
#include <utility>

#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "controllers/evacuation/io.hpp"
#include "controllers/evacuation/origin/creator.hpp"
#include "controllers/evacuation/origin/origin.hpp"
#include "controllers/operator/wiring.hpp"
#include "planner/scheduling/scoring/scheduler_rules.hpp"
#include "planner/strategies/catalog.hpp"
#include "usage/sources/metrics_server.hpp"

namespace controllers {
namespace {

/// Number of eviction workers per additional worker. The additional workers do the writes that would delay the next
/// eviction.
constexpr std::size_t kEvictionsPerWriter = 4;

evacuation::OperatorRules rules_of(const OperatorConfig& config) {
  return {.slot_without_progress = config.slot_without_progress,
          .max_progress = config.max_progress,
          .manual_priority = config.manual.priority,
          .manual_suspended = config.manual.suspended,
          .manual_ttl = config.manual.ttl_after_finished,
          .extender_serves_hints = config.extender_serves_hints};
}

/// kube-scheduler offers no way to query its extenders, so the configuration decides. A policy whose hints are not
/// applied suspends their use for a while.
std::function<bool()> hints_in_force(const Operator::Dependencies& deps) {
  if (deps.config.extender_serves_hints) return [] { return true; };
  return deps.config.webhook.enabled ? deps.hints_in_force : std::function<bool()>();
}

/// Namespaces whose new pods get no hints.
std::vector<std::string> namespaces_without_hints(const OperatorConfig& config) {
  return {"kube-system", config.leader_election.ns};
}

/// Returns a callback that enqueues a key with a delay.
auto enqueue_after(ControllerQueue& queue) {
  return [&queue](const api::ObjectKey& key, base::Duration after) { queue.queue.add_after(key, after); };
}

}  // namespace

WorkerNumbers::WorkerNumbers(std::int32_t evictions) {
  const auto calls = static_cast<std::size_t>(evictions);
  evacuation_workers_ = calls + std::max<std::size_t>(calls / kEvictionsPerWriter, 1);
}

OperatorParts::OperatorParts(Operator::Dependencies dependencies)
    : deps(std::move(dependencies)),
      registry(evictors::EvictorRegistry::builtin()),
      steady(deps.steady ? *deps.steady : deps.clock),
      caches(deps.client, steady, deps.discovery, deps.log),
      evacuation_metrics(deps.metrics, [this](const api::Evacuation& each) { return tracer.trace_of(each); }),
      eviction_slots(deps.config.workers),
      busy(WorkerNumbers(deps.config.workers).count(), steady),
      trail(
          deps.audit,
          [this](const std::string& name) {
            const auto policy = policy_of(name);
            return policy ? policy->meta.generation : 0;
          },
          deps.config.audit.on_failure == OperatorConfig::OnAuditFailure::kStopAdmissions),
      tracer(trail, deps.spans, deps.identity),
      evacuation_queue(steady),
      policy_queue(steady),
      usage_queue(steady),
      usage(usage_dependencies(), usage_queue.queue),
      gate_queue(steady),
      gates(gate_dependencies(), gate_queue.queue),
      taint_queue(steady),
      taints(taint_dependencies()),
      triggers(
          steady,
          [this](const std::string& policy, base::Duration after) {
            policy_queue.queue.add_after({"", policy}, after);
          },
          [this] { return caches.nodes.has_synced() && caches.pods.has_synced() && deps.may_act(); }),
      admission({deps.config.in_flight, deps.config.rate, deps.config.cooldown}, deps.clock,
                enqueue_after(evacuation_queue)),
      admission_rules({.admission = admission,
                       .policies = caches.policies.store(),
                       .clock = deps.clock,
                       .gates = [this](const std::string& policy) { return gates.verdict(policy); }}),
      reservations([this] { return caches.snapshot(); }, deps.clock, enqueue_after(evacuation_queue)),
      evacuations(evacuation_dependencies()),
      policies(policy_dependencies()),
      hints(caches.evacuations.store(), caches.pods.store(), caches.nodes.store(), deps.clock, steady),
      placement_webhook(hints, namespaces_without_hints(deps.config), deps.metrics, deps.log),
      object_webhook(webhook_dependencies()) {
  // Determines each Evacuation's origin before any reader or index sees the object. It needs the whole object, so
  // trimming comes after it.
  caches.evacuations.complete_with([this](api::Evacuation& each) {
    update_origin_condition(each, deps.keys.keys().get(), &origins);
    evacuation::trim(each);
  });
  caches.evacuations.recall_with([this](const api::ObjectMeta& meta) { return evacuations.own_write(meta); });
  admission.set_manual_patience(deps.config.slot_without_progress);
  admission.keep_share_for_policies();
  connect_caches(*this);
  add_responder();
  add_adviser();
  if (deps.config.webhook.admission.trust_creators)
    trail.name_creators_with([this](const api::Evacuation& each) { return creator_of(each); });
  deps.audit.watch([this](const auto& failure) { on_audit_health(failure); });
}

OperatorParts::~OperatorParts() { deps.audit.watch({}); }

UsageCollector::Dependencies OperatorParts::usage_dependencies() {
  return {.make_source = deps.usage_sources,
          .clock = deps.clock,
          .log = deps.log,
          .metrics = deps.metrics,
          .nodes = [this] { return caches.nodes.store().list(); }};
}

GatePoller::Dependencies OperatorParts::gate_dependencies() {
  return {.make_client = deps.gates,
          .clock = steady,
          .log = deps.log,
          .metrics = deps.metrics,
          .changed = [this](const std::string& policy) {
            admission_rules.follow_time();
            policy_queue.queue.add({"", policy});
          }};
}

SoftTaints::Dependencies OperatorParts::taint_dependencies() {
  return {.client = deps.client,
          .clock = steady,
          .nodes = caches.nodes.store(),
          .enqueue =
              [this](const std::string& node) {
                taint_queue.queue.add({"", node});
              },
          .may_act = deps.may_act,
          .metrics = deps.metrics,
          .log = deps.log};
}

evacuation::Reconciler::Dependencies OperatorParts::evacuation_dependencies() {
  return {.client = deps.client,
          .clock = deps.clock,
          .evictors = registry,
          .evacuations = caches.evacuations.store(),
          .pods = caches.pods.store(),
          .pdbs = caches.pdbs.store(),
          .admission = admission,
          .events = deps.events,
          .metrics = evacuation_metrics,
          .may_act = deps.may_act,
          .desired_replicas = [this](const std::string& ns,
                                     const api::OwnerReference& owner) { return caches.replicas_of(ns, owner); },
          .identity = deps.identity,
          .eviction_version = deps.discovery.eviction_version,
          .log = deps.log,
          .eviction_slots = &eviction_slots,
          .reservations = &reservations,
          .services = deps.services,
          .claims = &caches.claims.store(),
          .pod_groups = caches.pod_groups ? &caches.pod_groups->store() : nullptr,
          .pod_group_kind = deps.discovery.pod_groups,
          .audit = tracer,
          .policy_lives =
              [this](const std::string& name, const std::string& uid) {
                const auto seen = policy_of(name);
                return seen && seen->meta.uid == uid && !seen->meta.is_terminating();
              },
          .policy_suspends =
              [this](const std::string& name) {
                const auto seen = policy_of(name);
                return seen && seen->spec.mode == api::PolicyMode::kManual;
              },
          .keys = deps.keys,
          .rules = rules_of(deps.config),
          .origins = &origins,
          .places_pods = deps.config.serves_hints(),
          .trusts_creators = deps.config.webhook.admission.trust_creators,
          .allows_required = deps.config.webhook.allow_required,
          .serves_native_evictions = deps.discovery.has_native_evictions,
          .steady = &steady,
          .plans_in_waves = [](const std::string& strategy) { return strategies::plans_in_waves(strategy); },
          .empties_node = strategies::empties_node,
          .planned_nodes = [this](const std::string& policy,
                                  const std::string& strategy) { return planned_nodes(policy, strategy); }};
}

evacuation::PlannedNodes OperatorParts::planned_nodes(const std::string& policy, const std::string& strategy) const {
  const auto seen = policy_of(policy);
  auto nodes = seen ? evacuation::planned_nodes(seen->status.plan, strategy, strategies::empties_node)
                    : evacuation::PlannedNodes{};
  for (const auto& node : caches.nodes.store().list()) {
    if (std::ranges::find(node->taints, api::well_known::kEmptyingTaint, &api::Taint::key) != node->taints.end())
      nodes.emptied.insert(node->meta.name);
  }
  return nodes;
}

PolicyReconciler::Dependencies OperatorParts::policy_dependencies() {
  return {.client = deps.client,
          .clocks = {.wall = deps.clock, .steady = steady},
          .caches = {
              .policies = caches.policies.store(),
              .evacuations = caches.evacuations.store(),
              .snapshot = [this] { return caches.snapshot(); },
              .stale = [this] { return caches.stale(); },
              .unknown = [this] { return caches.unknown(); },
              .stuck = [this](const std::string& policy) { return evacuations.refused_writes().problems_of(policy); }},
          .measured = {.cooldowns = admission.cooldowns(),
                       .usage = [this](const std::string& policy) { return usage.figures(policy); },
                       .gates = [this](const std::string& policy) { return gates.verdict(policy); },
                       .server_minor = scheduling::minor_version(deps.discovery.server_version)},
          .steering = {.triggers = &triggers,
                       .taints = &taints,
                       .once = deps.once ? &once : nullptr,
                       .hints_in_force = hints_in_force(deps),
                       .namespaces_without_hints = namespaces_without_hints(deps.config)},
          .leadership = {.may_act = deps.may_act, .progress = [this] { return busy.progress_of_this_thread(); }},
          .evictors = registry,
          .events = deps.events,
          .metrics = deps.metrics,
          .log = deps.log,
          .audit = trail,
          .keys = deps.keys,
          .spans = deps.spans};
}

validation::Webhook::Dependencies OperatorParts::webhook_dependencies() {
  return {.registry = registry,
          .keys = deps.keys,
          .clock = deps.clock,
          .look = [this] { return surroundings(); },
          .metrics = deps.metrics,
          .log = deps.log};
}

void OperatorParts::add_responder() {
  if (!deps.config.responder_enabled) return;
  if (!deps.discovery.has_native_evictions) {
    deps.log.warning("responder.enabled has no effect: the server does not serve the EvictionRequest API",
                     {base::kv("api", kube::kNativeEvictions.api_version())});
    return;
  }
  responder.emplace(NativeResponder::Dependencies{.client = deps.client,
                                                  .clock = deps.clock,
                                                  .evacuations = caches.evacuations,
                                                  .pods = caches.pods,
                                                  .may_act = deps.may_act,
                                                  .log = deps.log,
                                                  .keys = deps.keys});
}

/// A run with one cycle per policy is too short for resource advice.
void OperatorParts::add_adviser() {
  if (!deps.config.resource_advice.enabled || deps.once) return;
  advice::ContainerSampler sample = deps.container_samples;
  if (!sample)
    sample = [this](const usage::EachContainer& each) { return usage::sample_containers(deps.client, each); };
  advice_service.emplace(advice::AdvicePoller::Dependencies{.client = deps.client,
                                                            .clock = deps.clock,
                                                            .cluster = [this] { return advised_cluster(); },
                                                            .sample = std::move(sample),
                                                            .metrics = deps.metrics,
                                                            .log = deps.log},
                         steady, deps.config.resource_advice);
}

std::vector<OperatorCaches::Named> OperatorParts::all_caches() {
  auto all = caches.all();
  if (responder) all.push_back({"evictions.lifecycle.k8s.io", &responder->evictions.reflector()});
  return all;
}

std::vector<kube::Reflector*> OperatorParts::all_reflectors() {
  std::vector<kube::Reflector*> reflectors;
  for (const auto& cache : all_caches()) reflectors.push_back(cache.reflector);
  return reflectors;
}

bool OperatorParts::have_caches_synced() {
  const auto all = all_caches();
  return std::ranges::all_of(all, [](const OperatorCaches::Named& cache) { return cache.is_settled(); });
}

std::vector<NamedQueue> OperatorParts::all_queues() const {
  std::vector<NamedQueue> queues = {{"evacuations", evacuation_queue.queue, evacuation_queue.counts},
                                    {"policies", policy_queue.queue, policy_queue.counts},
                                    {"usage", usage_queue.queue, usage_queue.counts},
                                    {"gates", gate_queue.queue, gate_queue.counts},
                                    {"taints", taint_queue.queue, taint_queue.counts}};
  if (responder) queues.push_back({"responder", responder->queue, responder->counts});
  if (advice_service) queues.push_back({"advice", advice_service->queue, advice_service->counts});
  return queues;
}

void OperatorParts::enqueue_policies() {
  for (const auto& each : caches.policies.store().list()) policy_queue.queue.add(each->meta.key());
}

/// Returns the user who created the Evacuation, or an empty string if unknown.
std::string OperatorParts::creator_of(const api::Evacuation& evacuation) {
  const auto keys = deps.keys.keys();
  const auto subject = keys ? proven_creator(evacuation, *keys, &origins) : std::nullopt;
  return subject ? api::text_at(*subject, {"user"}) : std::string();
}

/// Cluster state on which the risks of a policy depend.
validation::ClusterContext OperatorParts::surroundings() const {
  validation::ClusterContext around;
  around.has_budgets = !caches.pdbs.has_synced() || caches.pdbs.store().size() > 0;
  for (const auto& each : caches.policies.store().list()) around.policies.push_back(each);
  return around;
}

/// Returns nullptr if the policy does not exist.
std::shared_ptr<const ObservedPolicy> OperatorParts::policy_of(const std::string& name) const {
  return caches.policies.store().get({"", name});
}

advice::Cluster OperatorParts::advised_cluster() const {
  return {.pods = caches.pods.store().list(),
          .workload = [this](std::string_view kind, const api::ObjectKey& key) -> std::shared_ptr<const api::Workload> {
            if (kind == kube::kReplicaSets.kind) return caches.replica_sets.store().get(key);
            if (kind == kube::kJobs.kind) return caches.jobs.store().get(key);
            return nullptr;
          },
          .is_selected =
              [this](const std::string& ns) {
                const auto& selector = deps.config.resource_advice.namespaces;
                if (!selector) return true;
                const auto found = caches.namespaces.store().get({"", ns});
                return found && selector->matches(found->meta.labels);
              }};
}

/// Called when the audit log starts or stops failing. Blocks or unblocks admissions and publishes an Event.
void OperatorParts::on_audit_health(const std::optional<base::Error>& failure) {
  trail.set_failure(failure, deps.clock.now());
  if (!failure && !audit_failed) return;
  audit_failed = failure.has_value();
  const auto& lease = deps.config.leader_election;
  auto event = failure
                   ? kube::Event::warning(api::EventReason::kAuditLogFailing, failure->message)
                   : kube::Event::normal(api::EventReason::kAuditLogRecovered, "the audit log can be written again");
  deps.events.publish(std::move(event).about(kube::event_object(kube::kLeases, {lease.ns, lease.name}, ""), "Audit"));
  enqueue_policies();
  if (failure) return;
  for (const auto& each : caches.evacuations.store().list()) {
    if (!each->status.blocked_by.empty()) evacuation_queue.queue.add(each->meta.key());
  }
}

}  // namespace controllers
