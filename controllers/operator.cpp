#include "controllers/operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "api/json/json_access.hpp"
#include "api/origin.hpp"
#include "base/side_by_side.hpp"
#include "base/sleep.hpp"
#include "controllers/admission/queue.hpp"
#include "controllers/admission_rules.hpp"
#include "controllers/audit_trail.hpp"
#include "controllers/evacuation/io.hpp"
#include "controllers/evacuation/metrics.hpp"
#include "controllers/evacuation/reconciler.hpp"
#include "controllers/evacuation/wiring.hpp"
#include "controllers/gates/keeper.hpp"
#include "controllers/memory.hpp"
#include "controllers/native/wiring.hpp"
#include "controllers/operator_caches.hpp"
#include "controllers/placement/webhook.hpp"
#include "controllers/policy/reconciler.hpp"
#include "controllers/signing/creator.hpp"
#include "controllers/signing/origin.hpp"
#include "controllers/taints/soft_taints.hpp"
#include "controllers/tracing/evacuation_tracer.hpp"
#include "controllers/triggers/triggers.hpp"
#include "controllers/usage/spikes.hpp"
#include "controllers/validation/webhook.hpp"
#include "evictors/registry.hpp"
#include "kube/runtime/work_queue.hpp"
#include "kube/runtime/worker_pool.hpp"
#include "scheduling/scoring/scheduler_rules.hpp"
#include "usage/sources/metrics_server.hpp"

namespace controllers {
namespace {

/// A reconcile that takes longer hangs: its calls time out after 34 s each.
constexpr base::minutes kStuckAfter{5};
/// Of so many threads of the Evacuations one is there for the writes that would keep the next eviction waiting.
constexpr std::size_t kEvictionsPerWriter = 4;
/// Sources that may be asked at the same time: a slow one must not keep the others waiting.
constexpr std::size_t kUsageWorkers = 4;
constexpr base::milliseconds kPolicySettleTime{500};
/// Gates whose servers may hang at the same time before others wait.
constexpr std::size_t kGateThreads = 4;
/// Evacuations of a plan that are created at a time.
constexpr std::int32_t kMostCreators = 16;
/// Seconds after the start of the workers: not before the first evictions.
constexpr int kTidyTurn = 10;
/// A verdict older than this was recorded by whoever made it.
constexpr base::minutes kRecentVerdict{10};

/// Evacuations that an earlier process has begun, or has finished so lately that it may not have recorded the verdict.
bool is_taken_over(const api::Evacuation& evacuation, base::TimePoint now) {
  if (!api::is_terminal(evacuation.status.phase)) return evacuation.status.attempt > 0;
  const auto& finished = evacuation.status.finished_at;
  return finished && now - *finished < kRecentVerdict;
}

/// One for each eviction call that may be in flight, and a few for what else is written. Nothing deadlocks with fewer:
/// who waits for its turn to evict holds no lock, and whoever has the turn has a thread, and gives it back when its
/// call has ended or timed out.
std::size_t evacuation_threads(std::int32_t evictions) {
  const auto calls = static_cast<std::size_t>(evictions);
  return calls + std::max<std::size_t>(calls / kEvictionsPerWriter, 1);
}

evacuation::OperatorRules rules_of(const OperatorConfig& config) {
  return {.slot_without_progress = config.slot_without_progress,
          .manual_priority = config.manual.priority,
          .manual_suspended = config.manual.suspended,
          .manual_ttl = config.manual.ttl_after_finished,
          .extender_serves_hints = config.extender_serves_hints};
}

/// Nobody can ask kube-scheduler whether it has an extender: what the configuration says counts, and a policy whose
/// hints nobody takes does without them for a while.
std::function<bool()> hints_in_force(const Operator::Dependencies& deps) {
  if (deps.config.extender_serves_hints) return [] { return true; };
  return deps.config.webhook.enabled ? deps.hints_in_force : std::function<bool()>();
}

/// Notes since when a worker is busy, and that it no longer is however its work ends.
class Busy {
 public:
  using Since = std::atomic<base::Duration::rep>;
  Busy(Since& since, base::Duration::rep now) : since_(since) {
    since_ = now;
    of_this_thread = &since_;
  }
  ~Busy() {
    of_this_thread = nullptr;
    since_ = 0;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

  static thread_local Since* of_this_thread;  ///< nullptr: it is not busy

 private:
  Since& since_;
};
thread_local Busy::Since* Busy::of_this_thread = nullptr;

/// While one of them searches the other one has all other policies.
constexpr std::size_t kPolicyWorkers = 2;

}  // namespace

struct Operator::Impl {
  explicit Impl(Dependencies dependencies)
      : deps(std::move(dependencies)),
        registry(evictors::EvictorRegistry::builtin()),
        steady(deps.steady ? *deps.steady : deps.clock),
        caches(deps.client, steady, deps.discovery, deps.log),
        evacuation_metrics(deps.metrics, [this](const api::Evacuation& each) { return tracer.trace_of(each); }),
        eviction_slots(deps.config.workers),
        trail(
            deps.audit, [this](const std::string& policy) { return generation_of(policy); },
            deps.config.audit.on_failure == OperatorConfig::OnAuditFailure::kStopAdmissions),
        tracer(trail, deps.spans, deps.identity),
        evacuation_queue(steady),
        policy_queue(steady),
        usage_queue(steady),
        usage({.make_source = deps.usage_sources,
               .clock = deps.clock,
               .log = deps.log,
               .metrics = deps.metrics,
               .nodes = [this] { return caches.nodes.store().list(); }},
              usage_queue),
        gate_queue(steady),
        gates({.make_client = deps.gates,
               .clock = steady,
               .log = deps.log,
               .metrics = deps.metrics,
               .changed = [this](const std::string& policy) { on_gates_changed(policy); }},
              gate_queue),
        taint_queue(steady),
        taints({.client = deps.client,
                .clock = steady,
                .nodes = caches.nodes.store(),
                .enqueue =
                    [this](const std::string& node) {
                      taint_queue.add({"", node});
                    },
                .may_act = deps.may_act,
                .metrics = deps.metrics,
                .log = deps.log}),
        triggers(
            steady,
            [this](const std::string& policy, base::Duration after) {
              policy_queue.add_after({"", policy}, after);
            },
            [this] { return caches.nodes.has_synced() && caches.pods.has_synced() && deps.may_act(); }),
        admission({deps.config.in_flight, deps.config.rate, deps.config.cooldown}, deps.clock,
                  [this](const api::ObjectKey& key, base::Duration after) { evacuation_queue.add_after(key, after); }),
        admission_rules({.admission = admission,
                         .policies = caches.policies.store(),
                         .clock = deps.clock,
                         .gates = [this](const std::string& policy) { return gates.verdict(policy); }}),
        reservations(
            [this] { return caches.snapshot(); }, deps.clock,
            [this](const api::ObjectKey& key, base::Duration after) { evacuation_queue.add_after(key, after); }),
        evacuations(
            {.client = deps.client,
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
             .audit = tracer,
             .policy_lives = [this](const std::string& name,
                                    const std::string& uid) { return policy_lives(name, uid); },
             .policy_suspends = [this](const std::string& name) { return policy_suspends(name); },
             .keys = deps.keys,
             .rules = rules_of(deps.config),
             .origins = &origins,
             .places_pods = deps.config.serves_hints(),
             .trusts_creators = deps.config.webhook.admission.trust_creators,
             .allows_required = deps.config.webhook.allow_required,
             .serves_native_evictions = deps.discovery.has_native_evictions,
             .steady = &steady}),
        policies(
            {.client = deps.client,
             .clock = deps.clock,
             .policies = caches.policies.store(),
             .evacuations = caches.evacuations.store(),
             .snapshot = [this] { return caches.snapshot(); },
             .evictors = registry,
             .cooldowns = admission.cooldowns(),
             .may_act = deps.may_act,
             .events = deps.events,
             .metrics = deps.metrics,
             .log = deps.log,
             .audit = trail,
             .stuck = [this](const std::string& policy) { return evacuations.refused_writes().problems_of(policy); },
             .unknown = [this] { return caches.unknown(); },
             .keys = deps.keys,
             .stale = [this] { return caches.stale(); },
             .progress =
                 [this] {
                   return [this, since = Busy::of_this_thread] {
                     if (since != nullptr) *since = ticks();
                   };
                 },
             .usage = [this](const std::string& policy) { return usage.figures(policy); },
             .gates = [this](const std::string& policy) { return gates.verdict(policy); },
             .triggers = &triggers,
             .taints = &taints,
             .server_minor = scheduling::minor_version(deps.discovery.server_version),
             .hints_in_force = hints_in_force(deps),
             .namespaces_without_hints = {"kube-system", deps.config.leader_election.ns},
             .spans = deps.spans,
             .once = deps.once ? &once : nullptr}),
        hints(caches.evacuations.store(), caches.pods.store(), caches.nodes.store(), deps.clock, steady),
        placement_webhook(hints, {"kube-system", deps.config.leader_election.ns}, deps.metrics, deps.log),
        object_webhook({.registry = registry,
                        .keys = deps.keys,
                        .clock = deps.clock,
                        .look = [this] { return surroundings(); },
                        .metrics = deps.metrics,
                        .log = deps.log}),
        busy_since(evacuation_threads(deps.config.workers) + kPolicyWorkers + 1) {
    // Before anything looks at one, also through an index: who made it. That is asked of all of it, trimmed later.
    caches.evacuations.complete_with([this](api::Evacuation& each) {
      settle_origin(each, deps.keys.keys().get(), &origins);
      evacuation::trim(each);
    });
    caches.evacuations.recall_with([this](const api::ObjectMeta& meta) { return evacuations.own_write(meta); });
    admission.set_manual_patience(deps.config.slot_without_progress);
    add_indexes();
    add_handlers();
    add_responder();
    add_advice();
    if (deps.config.webhook.admission.trust_creators)
      trail.name_creators_with([this](const api::Evacuation& each) { return creator_of(each); });
    deps.audit.watch([this](const auto& failure) { on_audit_health(failure); });
  }
  ~Impl() { deps.audit.watch({}); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// The user who made it; empty: nobody can tell.
  std::string creator_of(const api::Evacuation& evacuation) {
    const auto keys = deps.keys.keys();
    const auto subject = keys ? proven_creator(evacuation, *keys, &origins) : std::nullopt;
    return subject ? api::text_at(*subject, {"user"}) : std::string();
  }

  /// What risks of a policy depend on.
  validation::Surroundings surroundings() const {
    validation::Surroundings around;
    around.has_budgets = !caches.pdbs.has_synced() || caches.pdbs.store().size() > 0;
    for (const auto& each : caches.policies.store().list()) around.policies.push_back(each);
    return around;
  }

  std::int64_t generation_of(const std::string& policy) const {
    const auto seen = caches.policies.store().get({"", policy});
    return seen ? seen->meta.generation : 0;
  }

  bool policy_suspends(const std::string& name) const {
    const auto seen = caches.policies.store().get({"", name});
    return seen && seen->spec.mode == api::PolicyMode::kManual;
  }

  bool policy_lives(const std::string& name, const std::string& uid) const {
    const auto seen = caches.policies.store().get({"", name});
    return seen && seen->meta.uid == uid && !seen->meta.is_terminating();
  }

  /// The log is written again, or not any more: it stops or releases admissions and says so.
  void on_audit_health(const std::optional<base::Error>& failure) {
    trail.set_failure(failure, deps.clock.now());
    if (!failure && !audit_failed) return;
    audit_failed = failure.has_value();
    const auto& lease = deps.config.leader_election;
    auto event = failure ? kube::Event::warning(api::EventReason::kAuditLogFailing, failure->message)
                         : kube::Event::normal(api::EventReason::kAuditLogRecovered, "the audit log is written again");
    deps.events.publish(std::move(event).about(kube::event_object(kube::kLeases, {lease.ns, lease.name}, ""), "Audit"));
    for (const auto& each : caches.policies.store().list()) policy_queue.add(each->meta.key());
    if (failure) return;
    for (const auto& each : caches.evacuations.store().list()) {
      if (!each->status.blocked_by.empty()) evacuation_queue.add(each->meta.key());
    }
  }

  void refresh_keys() { deps.keys.refresh(deps.may_act()); }

  /// This replica acts from now on.
  void resume() {
    const base::TimePoint now = deps.clock.now();
    evacuations.resume(now);
    admission_rules.follow_time();
    admission.resume();
    for (const auto& each : caches.evacuations.store().list()) {
      if (!is_taken_over(*each, now)) continue;
      trail.on_taken_over(*each, now);
      tracer.on_taken_over(*each, now);
    }
    if (adviser) adviser->queue.add(advice::Keeper::key());
  }

  void add_responder() {
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

  /// A run of one cycle is too short for it.
  void add_advice() {
    if (!deps.config.resource_advice.enabled || deps.once) return;
    advice::ContainerSampler sample = deps.container_samples;
    if (!sample)
      sample = [this](const usage::EachContainer& each) { return usage::sample_containers(deps.client, each); };
    adviser.emplace(advice::Keeper::Dependencies{.client = deps.client,
                                                 .clock = deps.clock,
                                                 .cluster = [this] { return advised_cluster(); },
                                                 .sample = std::move(sample),
                                                 .metrics = deps.metrics,
                                                 .log = deps.log},
                    steady, deps.config.resource_advice);
  }

  advice::Cluster advised_cluster() const {
    return {
        .pods = caches.pods.store().list(),
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

  /// The responder's included.
  std::vector<OperatorCaches::Named> all_caches() {
    auto all = caches.all();
    if (responder) all.push_back({"evictions.lifecycle.k8s.io", &responder->evictions.reflector()});
    return all;
  }

  // busy_since: the workers of the Evacuations, then these.
  std::size_t evacuation_workers() const { return busy_since.size() - kPolicyWorkers - 1; }
  std::size_t index_of_policy_worker(std::size_t index) const { return evacuation_workers() + index; }
  std::size_t index_of_responder_worker() const { return busy_since.size() - 1; }

  void add_indexes() {
    evacuation::add_evacuation_indexes(caches.evacuations.store(), caches.pods.store(), caches.pdbs.store());
    placement::add_placement_indexes(caches.evacuations.store(), caches.pods.store());
    caches.evacuations.store().add_index(std::string(kByPolicy),
                                         [](const api::Evacuation& evacuation) -> std::vector<std::string> {
                                           const std::string& policy = api::policy_of(evacuation);
                                           if (policy.empty()) return {};
                                           return {policy};
                                         });
  }

  void add_handlers() {
    caches.evacuations.add_handler([this](const auto&, const auto& after) {
      if (after) admission_rules.hold_without_policy(*after);
    });
    evacuation::connect_evacuations({caches.evacuations, caches.pods, caches.pdbs, caches.nodes, caches.claims},
                                    admission, reservations, evacuations, evacuation_queue);
    caches.evacuations.add_handler([this](const auto& before, const auto& after) {
      evacuation_metrics.on_cached(before.get(), after.get());
      if (deps.once) once.on_evacuation(before.get(), after.get());
      // Many Evacuations change together: the policy's counts may lag by half a second.
      for (const auto* each : {before.get(), after.get()}) {
        const std::string policy = each ? api::policy_of(*each) : std::string();
        if (!policy.empty()) policy_queue.add_after({"", policy}, kPolicySettleTime);
      }
    });
    caches.nodes.add_handler([this](const auto& before, const auto& after) {
      triggers.on_node(before.get(), after.get());
      if (after) taints.on_node(*after);
    });
    caches.pods.add_handler([this](const auto& before, const auto& after) {
      triggers.on_pod(before.get(), after.get());
      usage.on_pod(before.get(), after.get());
    });
    caches.policies.add_handler([this](const auto& before, const auto& after) {
      const ObservedPolicy& seen = after ? *after : *before;
      if (after) {
        if (!before) taints.know(seen.meta.name);
        gates.set(seen.meta.name, after->spec.gates, after->spec.usage_sources);
        admission_rules.follow(*after);
        follow_usage(*after);
        if (after->plan_spec) triggers.follow(seen.meta.name, after->spec.schedule.triggers);
      } else {
        gates.drop(seen.meta.name);
        triggers.forget(seen.meta.name);
        usage.drop(seen.meta.name);
        admission_rules.forget(seen.meta.name);
      }
      policy_queue.add(seen.meta.key());
    });
  }

  void on_gates_changed(const std::string& policy) {
    admission_rules.follow_time();
    policy_queue.add({"", policy});
  }

  void follow_usage(const ObservedPolicy& policy) {
    if (!policy.plan_spec || !deps.usage_sources) return;
    usage.set(policy.meta.name,
              wanted_usage(policy.spec.usage_sources, policy.plan_spec->strategy_specs.usage_needs()));
  }

  /// The reconcile of worker number `index`, timed for alive().
  template <typename Reconciler>
  kube::Worker::Reconcile timed(Reconciler& reconciler, std::size_t index) {
    return [this, &reconciler, index](const api::ObjectKey& key) {
      const Busy busy(busy_since[index], ticks());
      return reconciler.reconcile(key);
    };
  }

  kube::Worker evacuation_worker(std::size_t index) {
    return kube::Worker(evacuation_queue, timed(evacuations, index), evacuation_counts, deps.log);
  }
  /// `index` below kPolicyWorkers.
  kube::Worker policy_worker(std::size_t index) {
    return kube::Worker(policy_queue, timed(policies, index_of_policy_worker(index)), policy_counts, deps.log);
  }
  /// Of all sources: they are few, and what is no news counts for nothing.
  void look_for_spikes() {
    const NodeLookup node = [this](const std::string& name) { return caches.nodes.store().get({"", name}); };
    for (const auto& policy : caches.policies.store().list()) {
      const auto& wanted = policy->spec.schedule.triggers;
      if (std::ranges::find(wanted, api::TriggerKind::kUsageSpike, &api::ScheduleTrigger::type) == wanted.end())
        continue;
      const auto figures = usage.figures(policy->meta.name);
      for (const api::ScheduleTrigger& each : wanted) {
        for (const auto& measured : figures.measured) {
          if (each.type != api::TriggerKind::kUsageSpike || measured->source != each.source) continue;
          triggers.on_usage(policy->meta.name, each.source, each.resource,
                            highest_percent(*measured, each.resource, node));
        }
      }
    }
  }

  kube::Worker gate_worker() {
    return kube::Worker(
        gate_queue, [this](const api::ObjectKey& key) { return gates.ask(key); }, gate_counts, deps.log);
  }
  kube::Worker usage_worker() {
    return kube::Worker(
        usage_queue,
        [this](const api::ObjectKey& key) {
          auto collected = usage.collect(key);
          look_for_spikes();
          return collected;
        },
        usage_counts, deps.log);
  }
  kube::Worker taint_worker() {
    return kube::Worker(
        taint_queue, [this](const api::ObjectKey& node) { return taints.reconcile(node); }, taint_counts, deps.log);
  }
  /// REQUIRES: responder.
  kube::Worker responder_worker() {
    return kube::Worker(responder->queue, timed(responder->reconciler, index_of_responder_worker()), responder->counts,
                        deps.log);
  }

  base::Duration::rep ticks() const { return steady.now().time_since_epoch().count(); }

  enum class Start { kWaits, kAsked, kBegun };
  /// Before the first reconcile of this leader: the caches are filled, and the Evacuations are listed anew. A half-open
  /// watch would hide what the predecessor admitted, and a whole set of slots would be granted again (I7).
  Start begin() {
    if (!synced()) return Start::kWaits;
    refresh_keys();
    if (resumed) return Start::kBegun;
    if (!relist) {
      relist = caches.evacuations.reflector().relist();
      return Start::kAsked;
    }
    if (!caches.evacuations.reflector().has_relisted(*relist)) return Start::kWaits;
    resumed = true;
    resume();
    return Start::kBegun;
  }

  /// Cycles are put off while a cache is stale: whoever plans hears at once when that begins and ends.
  void follow_staleness() {
    const std::vector<std::string> stale = caches.stale();
    if (std::exchange(was_stale, !stale.empty()) == !stale.empty()) return;
    if (stale.empty()) deps.log.info("the caches follow the server again");
    for (const std::string& each : stale) {
      deps.log.error("a cache is stale: no policy plans until it follows again", {base::kv("problem", each)});
    }
    for (const auto& each : caches.policies.store().list()) policy_queue.add(each->meta.key());
  }

  void publish_ages() {
    for (const auto& cache : all_caches()) {
      const auto age = cache.contact_age();
      deps.metrics
          .gauge("evacuator_cache_contact_age_seconds",
                 "Time since the cache of that kind last heard from the API server.", {{"kind", cache.name}})
          .set(std::chrono::duration<double>(age.value_or(base::Duration::zero())).count());
      if (!cache.size) continue;
      deps.metrics.gauge("evacuator_cache_objects", "Objects in the cache of that kind.", {{"kind", cache.name}})
          .set(static_cast<double>(cache.size()));
    }
  }

  bool synced() {
    for (const auto& cache : all_caches()) {
      if (!cache.is_settled()) return false;
    }
    return true;
  }

  void wait_for_caches(std::stop_token stop) {
    while (!stop.stop_requested() && begin() != Start::kBegun) {
      base::sleep_unless_stopped(base::milliseconds(5), stop);
    }
  }

  void publish_counts() {
    const auto publish = [&](const char* queue, const kube::WorkQueue& depth_of, const kube::WorkerCounts& counts) {
      deps.metrics
          .gauge("evacuator_queue_depth", "Keys that wait for a worker, delayed ones included.", {{"queue", queue}})
          .set(static_cast<double>(depth_of.depth()));
      const auto reconciles = [&](const char* result, std::int64_t value) {
        const std::int64_t before = std::exchange(published_reconciles[{queue, result}], value);
        deps.metrics
            .counter("evacuator_reconciles_total", "Reconciles since the start, by result.",
                     {{"queue", queue}, {"result", result}})
            .increment(static_cast<double>(value - before));
      };
      reconciles("succeeded", counts.succeeded);
      reconciles("failed", counts.failed);
      reconciles("exception", counts.exceptions);
    };
    publish("evacuations", evacuation_queue, evacuation_counts);
    publish("policies", policy_queue, policy_counts);
    publish("usage", usage_queue, usage_counts);
    publish("gates", gate_queue, gate_counts);
    publish("taints", taint_queue, taint_counts);
    if (responder) publish("responder", responder->queue, responder->counts);
    if (adviser) publish("advice", adviser->queue, adviser->counts);
    const auto usage = admission.usage();
    deps.metrics.gauge("evacuator_slots_in_flight", "Evacuations that hold a slot.")
        .set(static_cast<double>(usage.in_flight));
    deps.metrics.gauge("evacuator_slots_waiting", "Evacuations that wait for a slot.")
        .set(static_cast<double>(usage.waiting));
    if (usage.limit)
      deps.metrics.gauge("evacuator_slots_limit", "Evacuations that may hold a slot at the same time.")
          .set(static_cast<double>(*usage.limit));
    for (const auto& [scope, fullness] : usage.scopes) {
      deps.metrics
          .gauge("evacuator_scope_waiting", "Evacuations that wait because of a limit, by its scope.",
                 {{"scope", scope}})
          .set(static_cast<double>(fullness.waiting));
      deps.metrics
          .gauge("evacuator_scope_fullness", "Slots in use by limit, of the limit of that scope where it is highest.",
                 {{"scope", scope}})
          .set(fullness.fullest);
    }
    deps.metrics.gauge("evacuator_evacuations_stuck", "Evacuations whose state the API server refuses to store.")
        .set(static_cast<double>(evacuations.refused_writes().count()));
  }

  Dependencies deps;
  evictors::EvictorRegistry registry;
  const base::Clock& steady;
  OriginMemory origins{deps.clock};
  OnceRun once;
  OperatorCaches caches;
  evacuation::PrometheusMetrics evacuation_metrics;
  std::counting_semaphore<> eviction_slots;
  AuditTrail trail;
  EvacuationTracer tracer;
  std::atomic<bool> audit_failed = false;
  kube::WorkQueue evacuation_queue;
  kube::WorkQueue policy_queue;
  kube::WorkQueue usage_queue;
  UsageCollector usage;
  kube::WorkQueue gate_queue;
  GateKeeper gates;
  kube::WorkQueue taint_queue;
  SoftTaints taints;
  Triggers triggers;
  AdmissionQueue admission;
  AdmissionRules admission_rules;
  Reservations reservations;
  evacuation::Reconciler evacuations;
  PolicyReconciler policies;
  placement::Hints hints;
  placement::Webhook placement_webhook;
  validation::Webhook object_webhook;
  std::optional<NativeResponder> responder;  ///< only when enabled and served
  std::optional<advice::Service> adviser;    ///< only when enabled
  kube::WorkerCounts evacuation_counts;
  kube::WorkerCounts policy_counts;
  kube::WorkerCounts usage_counts;
  kube::WorkerCounts gate_counts;
  kube::WorkerCounts taint_counts;
  std::vector<std::atomic<base::Duration::rep>> busy_since;  ///< per worker; 0: idle
  std::optional<std::uint64_t> relist;                       ///< of the Evacuations, by this leader
  bool resumed = false;                                      ///< of begin()
  bool was_stale = false;                                    ///< of follow_staleness()
  /// By queue and result; of publish_counts().
  std::map<std::pair<std::string, std::string>, std::int64_t> published_reconciles;
};

Operator::Operator(Dependencies dependencies) : impl_(std::make_unique<Impl>(std::move(dependencies))) {}
Operator::~Operator() = default;

void Operator::run_caches(std::stop_token stop) {
  std::vector<std::jthread> threads;
  for (const auto& cache : impl_->all_caches()) {
    threads.emplace_back([stop, name = cache.name, reflector = cache.reflector] {
      kube::name_this_thread(name);
      reflector->run(stop);
    });
  }
  while (!stop.stop_requested()) {
    impl_->refresh_keys();
    impl_->publish_ages();
    base::sleep_unless_stopped(base::seconds(1), stop);
  }
}

void Operator::run_workers(std::stop_token stop) {
  impl_->wait_for_caches(stop);
  if (stop.stop_requested()) return;
  impl_->deps.log.info("reconciling", {base::kv("workers", impl_->deps.config.workers)});
  std::vector<std::jthread> threads;
  kube::WorkerPool evacuators(
      impl_->evacuation_queue, impl_->evacuation_workers(),
      [this](std::size_t i) { return impl_->evacuation_worker(i); }, "evacuations");
  kube::WorkerPool collectors(
      impl_->usage_queue, kUsageWorkers, [this](std::size_t) { return impl_->usage_worker(); }, "usage");
  kube::WorkerPool askers(
      impl_->gate_queue, kGateThreads, [this](std::size_t) { return impl_->gate_worker(); }, "gates");
  for (kube::WorkerPool* pool : {&evacuators, &collectors, &askers}) pool->start(stop);
  impl_->policies.set_pause([stop](base::Duration pause) { return base::sleep_unless_stopped(pause, stop); });
  impl_->policies.set_stopping([stop] { return stop.stop_requested(); });
  impl_->policies.set_executor(base::run_on_all_cores);
  impl_->policies.set_creators(std::clamp(impl_->deps.config.workers, std::int32_t{1}, kMostCreators));
  const auto run = [&](const char* name, kube::Worker worker) {
    threads.emplace_back([stop, name, worker = std::move(worker)]() mutable {
      kube::name_this_thread(name);
      worker.run(stop);
    });
  };
  for (std::size_t i = 0; i < kPolicyWorkers; ++i) run("policies", impl_->policy_worker(i));
  run("taints", impl_->taint_worker());
  if (impl_->responder) run("responder", impl_->responder_worker());
  if (impl_->adviser) {
    threads.emplace_back([this, stop] {
      kube::name_this_thread("advice");
      impl_->adviser->run(stop);
    });
  }
  for (int turn = 0; !stop.stop_requested(); ++turn) {
    if (turn == kTidyTurn) return_free_memory();  // of the first lists
    impl_->publish_counts();
    impl_->follow_staleness();
    impl_->admission_rules.follow_time();
    base::sleep_unless_stopped(base::seconds(1), stop);
  }
}

bool Operator::poll_caches() {
  bool busy = false;
  for (const auto& cache : impl_->all_caches()) busy |= cache.reflector->poll();
  return busy;
}

bool Operator::reconcile_one() {
  const auto start = impl_->begin();
  if (start != Impl::Start::kBegun) return start == Impl::Start::kAsked;
  impl_->follow_staleness();
  impl_->admission_rules.follow_time();
  return impl_->gate_worker().step() || impl_->usage_worker().step() || impl_->taint_worker().step() ||
         impl_->evacuation_worker(0).step() || impl_->policy_worker(0).step() ||
         (impl_->responder && impl_->responder_worker().step()) || (impl_->adviser && impl_->adviser->worker().step());
}

bool Operator::step() {
  bool busy = poll_caches();
  const auto start = impl_->begin();
  if (start != Impl::Start::kBegun) return busy || start == Impl::Start::kAsked;
  impl_->follow_staleness();
  impl_->admission_rules.follow_time();
  while (impl_->gate_worker().step()) busy = true;
  while (impl_->usage_worker().step()) busy = true;
  while (impl_->taint_worker().step()) busy = true;
  while (impl_->evacuation_worker(0).step()) busy = true;
  while (impl_->policy_worker(0).step()) busy = true;
  while (impl_->responder && impl_->responder_worker().step()) busy = true;
  while (impl_->adviser && impl_->adviser->worker().step()) busy = true;
  return busy;
}

std::optional<base::TimePoint> Operator::next_due() const {
  const auto earlier = [](const auto& a, const auto& b) { return a && b ? std::min(a, b) : a ? a : b; };
  const auto next = earlier(impl_->taint_queue.next_due(),
                            earlier(earlier(impl_->gate_queue.next_due(), impl_->usage_queue.next_due()),
                                    earlier(impl_->evacuation_queue.next_due(), impl_->policy_queue.next_due())));
  const auto advice = impl_->adviser ? impl_->adviser->queue.next_due() : std::nullopt;
  return earlier(earlier(next, advice), impl_->responder ? impl_->responder->queue.next_due() : std::nullopt);
}

std::optional<std::string> Operator::review_pod(std::string_view review) const {
  return impl_->placement_webhook.answer(review);
}

OnceReport Operator::once_report() const {
  OnceReport report = impl_->once.report(impl_->caches.policies.store().list());
  report.is_tidy = impl_->taint_queue.depth() == 0;
  return report;
}

std::optional<std::string> Operator::validate_object(std::string_view review) const {
  return impl_->object_webhook.validate(review);
}

std::optional<std::string> Operator::record_creator(std::string_view review) const {
  return impl_->object_webhook.record_creator(review);
}

bool Operator::has_synced() const { return impl_->synced(); }

base::Status Operator::ready() const {
  for (const auto& cache : impl_->all_caches()) {
    const auto error = cache.reflector->last_error();
    if (!cache.is_settled()) {
      return base::unavailable(fmt::format("{}: not listed yet{}", cache.name, error ? ": " + error->message : ""));
    }
    if (auto stale = cache.staleness()) return base::unavailable(*std::move(stale));
  }
  if (!impl_->deps.keys.keys()) return base::unavailable(impl_->deps.keys.problem());
  return base::Done{};
}

base::Status Operator::alive() const {
  const base::Duration now(impl_->ticks());
  for (const auto& since : impl_->busy_since) {
    const base::Duration started(since.load());
    if (started != base::Duration::zero() && now - started > kStuckAfter) {
      return base::unavailable("a reconcile has not returned for " + base::format_age(now - started));
    }
  }
  return base::Done{};
}

}  // namespace controllers
