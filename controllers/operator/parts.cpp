#include "controllers/operator/parts.hpp"

#include <algorithm>
#include <utility>

#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "controllers/admission/queue.hpp"
#include "controllers/admission/reservations.hpp"
#include "controllers/advice/advice_poller.hpp"
#include "controllers/evacuation/eviction_request/wiring.hpp"
#include "controllers/evacuation/io.hpp"
#include "controllers/evacuation/metrics.hpp"
#include "controllers/evacuation/origin/creator.hpp"
#include "controllers/evacuation/origin/origin.hpp"
#include "controllers/evacuation/reconciler.hpp"
#include "controllers/observability/tracing/evacuation_spans.hpp"
#include "controllers/operator/audit_trail.hpp"
#include "controllers/policy/admission_rules.hpp"
#include "controllers/policy/gates/gate_poller.hpp"
#include "controllers/policy/reconciler.hpp"
#include "controllers/policy/taints/soft_taints.hpp"
#include "controllers/policy/triggers.hpp"
#include "controllers/webhooks/placement/hints.hpp"
#include "controllers/webhooks/placement/webhook.hpp"
#include "controllers/webhooks/validation/webhook.hpp"
#include "planner/scheduling/scoring/scheduler_rules.hpp"
#include "planner/strategies/catalog.hpp"
#include "usage/sources/metrics_server.hpp"

namespace controllers {
namespace {

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

/// Returns nullptr if the policy does not exist.
std::shared_ptr<const ObservedPolicy> policy_of(OperatorParts& parts, const std::string& name) {
  return parts.caches.policies.store().get({"", name});
}

/// Called when the audit log starts or stops failing. Blocks or unblocks admissions and publishes an Event.
void on_audit_health(OperatorParts& parts, const std::optional<base::Error>& failure) {
  parts.trail->set_failure(failure, parts.deps.clock.now());
  if (!failure && !parts.audit_failed) return;
  parts.audit_failed = failure.has_value();
  const auto& lease = parts.deps.config.leader_election;
  auto event = failure
                   ? kube::Event::warning(api::EventReason::kAuditLogFailing, failure->message)
                   : kube::Event::normal(api::EventReason::kAuditLogRecovered, "the audit log can be written again");
  parts.deps.events.publish(
      std::move(event).about(kube::event_object(kube::kLeases, {lease.ns, lease.name}, ""), "Audit"));
  parts.enqueue_policies();
  if (failure) return;
  for (const auto& each : parts.caches.evacuations.store().list()) {
    if (!each->status.blocked_by.empty()) parts.evacuation_queue.queue.add(each->meta.key());
  }
}

GatePoller::Dependencies gate_dependencies(OperatorParts& parts) {
  return {.make_client = parts.deps.gates,
          .clock = parts.steady,
          .log = parts.deps.log,
          .metrics = parts.deps.metrics,
          .changed = [&parts](const std::string& policy) {
            parts.admission_rules->follow_time();
            parts.policy_queue.queue.add({"", policy});
          }};
}

SoftTaints::Dependencies taint_dependencies(OperatorParts& parts) {
  return {.client = parts.deps.client,
          .clock = parts.steady,
          .nodes = parts.caches.nodes.store(),
          .enqueue =
              [&parts](const std::string& node) {
                parts.taint_queue.queue.add({"", node});
              },
          .may_act = parts.deps.may_act,
          .metrics = parts.deps.metrics,
          .log = parts.deps.log};
}

evacuation::PlannedNodes planned_nodes(OperatorParts& parts, const std::string& policy, const std::string& strategy) {
  const auto seen = policy_of(parts, policy);
  auto nodes = seen ? evacuation::planned_nodes(seen->status.plan, strategy, strategies::empties_node)
                    : evacuation::PlannedNodes{};
  for (const auto& node : parts.caches.nodes.store().list()) {
    if (std::ranges::find(node->taints, api::well_known::kEmptyingTaint, &api::Taint::key) != node->taints.end())
      nodes.emptied.insert(node->meta.name);
  }
  return nodes;
}

evacuation::Reconciler::Dependencies evacuation_dependencies(OperatorParts& parts) {
  return {
      .client = parts.deps.client,
      .clock = parts.deps.clock,
      .evictors = parts.registry,
      .evacuations = parts.caches.evacuations.store(),
      .pods = parts.caches.pods.store(),
      .pdbs = parts.caches.pdbs.store(),
      .admission = *parts.admission,
      .events = parts.deps.events,
      .metrics = *parts.evacuation_metrics,
      .may_act = parts.deps.may_act,
      .desired_replicas = [&parts](const std::string& ns,
                                   const api::OwnerReference& owner) { return parts.caches.replicas_of(ns, owner); },
      .identity = parts.deps.identity,
      .eviction_version = parts.deps.discovery.eviction_version,
      .log = parts.deps.log,
      .eviction_slots = &parts.eviction_slots,
      .reservations = parts.reservations.get(),
      .services = parts.deps.services,
      .claims = &parts.caches.claims.store(),
      .pod_groups = parts.caches.pod_groups ? &parts.caches.pod_groups->store() : nullptr,
      .pod_group_kind = parts.deps.discovery.pod_groups,
      .audit = *parts.tracer,
      .policy_lives =
          [&parts](const std::string& name, const std::string& uid) {
            const auto seen = policy_of(parts, name);
            return seen && seen->meta.uid == uid && !seen->meta.is_terminating();
          },
      .policy_suspends =
          [&parts](const std::string& name) {
            const auto seen = policy_of(parts, name);
            return seen && seen->spec.mode == api::PolicyMode::kManual;
          },
      .keys = parts.deps.keys,
      .rules = rules_of(parts.deps.config),
      .origins = &parts.origins,
      .places_pods = parts.deps.config.serves_hints(),
      .trusts_creators = parts.deps.config.webhook.admission.trust_creators,
      .allows_required = parts.deps.config.webhook.allow_required,
      .serves_native_evictions = parts.deps.discovery.has_native_evictions,
      .steady = &parts.steady,
      .plans_in_waves = [](const std::string& strategy) { return strategies::plans_in_waves(strategy); },
      .empties_node = strategies::empties_node,
      .planned_nodes = [&parts](const std::string& policy,
                                const std::string& strategy) { return planned_nodes(parts, policy, strategy); }};
}

PolicyReconciler::Dependencies policy_dependencies(OperatorParts& parts) {
  return {.client = parts.deps.client,
          .clocks = {.wall = parts.deps.clock, .steady = parts.steady},
          .caches = {.policies = parts.caches.policies.store(),
                     .evacuations = parts.caches.evacuations.store(),
                     .snapshot = [&parts] { return parts.caches.snapshot(); },
                     .stale = [&parts] { return parts.caches.stale(); },
                     .unknown = [&parts] { return parts.caches.unknown(); },
                     .stuck =
                         [&parts](const std::string& policy) {
                           return parts.evacuations->refused_writes().problems_of(policy);
                         }},
          .measured = {.cooldowns = parts.admission->cooldowns(),
                       .usage = [&parts](const std::string& policy) { return parts.usage->figures(policy); },
                       .gates = [&parts](const std::string& policy) { return parts.gates->verdict(policy); },
                       .server_minor = scheduling::minor_version(parts.deps.discovery.server_version)},
          .steering = {.triggers = parts.triggers.get(),
                       .taints = parts.taints.get(),
                       .once = parts.deps.once ? &parts.once : nullptr,
                       .hints_in_force = hints_in_force(parts.deps),
                       .namespaces_without_hints = namespaces_without_hints(parts.deps.config)},
          .leadership = {.may_act = parts.deps.may_act,
                         .progress = [&parts] { return parts.busy.progress_of_this_thread(); }},
          .evictors = parts.registry,
          .events = parts.deps.events,
          .metrics = parts.deps.metrics,
          .log = parts.deps.log,
          .audit = *parts.trail,
          .keys = parts.deps.keys,
          .spans = parts.deps.spans};
}

validation::Webhook::Dependencies webhook_dependencies(OperatorParts& parts) {
  return {.registry = parts.registry,
          .keys = parts.deps.keys,
          .clock = parts.deps.clock,
          .look =
              [&parts] {
                const auto policies = parts.caches.policies.store().list();
                return validation::ClusterContext{
                    .has_budgets = !parts.caches.pdbs.has_synced() || parts.caches.pdbs.store().size() > 0,
                    .policies = {policies.begin(), policies.end()}};
              },
          .metrics = parts.deps.metrics,
          .log = parts.deps.log};
}

void add_responder(OperatorParts& parts) {
  if (!parts.deps.config.responder_enabled) return;
  if (!parts.deps.discovery.has_native_evictions) {
    parts.deps.log.warning("responder.enabled has no effect: the server does not serve the EvictionRequest API",
                           {base::kv("api", kube::kNativeEvictions.api_version())});
    return;
  }
  parts.responder =
      std::make_unique<NativeResponder>(NativeResponder::Dependencies{.client = parts.deps.client,
                                                                      .clock = parts.deps.clock,
                                                                      .evacuations = parts.caches.evacuations,
                                                                      .pods = parts.caches.pods,
                                                                      .may_act = parts.deps.may_act,
                                                                      .log = parts.deps.log,
                                                                      .keys = parts.deps.keys});
}

/// A run with one cycle per policy is too short for resource advice.
void add_adviser(OperatorParts& parts) {
  if (!parts.deps.config.resource_advice.enabled || parts.deps.once) return;
  advice::ContainerSampler sample = parts.deps.container_samples;
  if (!sample)
    sample = [&parts](const usage::EachContainer& each) { return usage::sample_containers(parts.deps.client, each); };
  const auto cluster = [&parts] {
    return advice::Cluster{
        .pods = parts.caches.pods.store().list(),
        .workload = [&parts](std::string_view kind, const api::ObjectKey& key) -> std::shared_ptr<const api::Workload> {
          if (kind == kube::kReplicaSets.kind) return parts.caches.replica_sets.store().get(key);
          if (kind == kube::kJobs.kind) return parts.caches.jobs.store().get(key);
          return nullptr;
        },
        .is_selected =
            [&parts](const std::string& ns) {
              const auto& selector = parts.deps.config.resource_advice.namespaces;
              if (!selector) return true;
              const auto found = parts.caches.namespaces.store().get({"", ns});
              return found && selector->matches(found->meta.labels);
            }};
  };
  parts.advice_service =
      std::make_unique<advice::Service>(advice::AdvicePoller::Dependencies{.client = parts.deps.client,
                                                                           .clock = parts.deps.clock,
                                                                           .cluster = cluster,
                                                                           .sample = std::move(sample),
                                                                           .metrics = parts.deps.metrics,
                                                                           .log = parts.deps.log},
                                        parts.steady, parts.deps.config.resource_advice);
}

}  // namespace

OperatorParts::OperatorParts(Operator::Dependencies dependencies)
    : deps(std::move(dependencies)),
      registry(evictors::EvictorRegistry::builtin()),
      steady(deps.steady ? *deps.steady : deps.clock),
      caches(deps.client, steady, deps.discovery, deps.log),
      evacuation_metrics(std::make_unique<evacuation::PrometheusMetrics>(
          deps.metrics, [this](const api::Evacuation& each) { return tracer->trace_of(each); })),
      eviction_slots(deps.config.workers),
      busy(WorkerNumbers(deps.config.workers).count(), steady),
      trail(std::make_unique<AuditTrail>(
          deps.audit,
          [this](const std::string& name) {
            const auto policy = policy_of(*this, name);
            return policy ? policy->meta.generation : 0;
          },
          deps.config.audit.on_failure == OperatorConfig::OnAuditFailure::kStopAdmissions)),
      tracer(std::make_unique<EvacuationTracer>(*trail, deps.spans, deps.identity)),
      evacuation_queue(steady),
      policy_queue(steady),
      usage_queue(steady),
      usage(std::make_unique<UsageCollector>(
          UsageCollector::Dependencies{.make_source = deps.usage_sources,
                                       .clock = deps.clock,
                                       .log = deps.log,
                                       .metrics = deps.metrics,
                                       .nodes = [this] { return caches.nodes.store().list(); }},
          usage_queue.queue)),
      gate_queue(steady),
      gates(std::make_unique<GatePoller>(gate_dependencies(*this), gate_queue.queue)),
      taint_queue(steady),
      taints(std::make_unique<SoftTaints>(taint_dependencies(*this))),
      triggers(std::make_unique<Triggers>(
          steady,
          [this](const std::string& policy, base::Duration after) {
            policy_queue.queue.add_after({"", policy}, after);
          },
          [this] { return caches.nodes.has_synced() && caches.pods.has_synced() && deps.may_act(); })),
      admission(std::make_unique<AdmissionQueue>(
          api::AdmissionLimits{deps.config.in_flight, deps.config.rate, deps.config.cooldown}, deps.clock,
          enqueue_after(evacuation_queue))),
      admission_rules(std::make_unique<AdmissionRules>(
          AdmissionRules::Dependencies{.admission = *admission,
                                       .policies = caches.policies.store(),
                                       .clock = deps.clock,
                                       .gates = [this](const std::string& policy) { return gates->verdict(policy); }})),
      reservations(std::make_unique<Reservations>([this] { return caches.snapshot(); }, deps.clock,
                                                  enqueue_after(evacuation_queue))),
      evacuations(std::make_unique<evacuation::Reconciler>(evacuation_dependencies(*this))),
      policies(std::make_unique<PolicyReconciler>(policy_dependencies(*this))),
      hints(std::make_unique<placement::Hints>(caches.evacuations.store(), caches.pods.store(), caches.nodes.store(),
                                               deps.clock, steady)),
      placement_webhook(
          std::make_unique<placement::Webhook>(*hints, namespaces_without_hints(deps.config), deps.metrics, deps.log)),
      object_webhook(std::make_unique<validation::Webhook>(webhook_dependencies(*this))) {
  // Determines each Evacuation's origin before any reader or index sees the object. It needs the whole object, so
  // trimming comes after it.
  caches.evacuations.complete_with([this](api::Evacuation& each) {
    update_origin_condition(each, deps.keys.keys().get(), &origins);
    evacuation::trim(each);
  });
  caches.evacuations.recall_with([this](const api::ObjectMeta& meta) { return evacuations->own_write(meta); });
  admission->set_manual_patience(deps.config.slot_without_progress);
  admission->keep_share_for_policies();
  connect_caches(*this);
  add_responder(*this);
  add_adviser(*this);
  if (deps.config.webhook.admission.trust_creators)
    trail->name_creators_with([this](const api::Evacuation& each) {
      const auto keys = deps.keys.keys();
      const auto subject = keys ? proven_creator(each, *keys, &origins) : std::nullopt;
      return subject ? api::text_at(*subject, {"user"}) : std::string();
    });
  deps.audit.watch([this](const auto& failure) { on_audit_health(*this, failure); });
}

OperatorParts::~OperatorParts() { deps.audit.watch({}); }

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

}  // namespace controllers
