#include "controllers/operator/workers.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "base/parallel.hpp"
#include "base/sleep.hpp"
#include "controllers/advice/advice_poller.hpp"
#include "controllers/evacuation/eviction_request/wiring.hpp"
#include "controllers/evacuation/reconciler.hpp"
#include "controllers/operator/parts.hpp"
#include "controllers/policy/gates/gate_poller.hpp"
#include "controllers/policy/reconciler.hpp"
#include "controllers/policy/taints/soft_taints.hpp"
#include "controllers/policy/triggers.hpp"
#include "controllers/policy/usage/collector.hpp"
#include "kube/runtime/worker_pool.hpp"

namespace controllers {
namespace {

/// Number of usage sources queried concurrently, so that a slow source does not delay the others.
constexpr std::size_t kUsageWorkers = 4;
/// Number of gates whose servers may hang at the same time without delaying other gates.
constexpr std::size_t kGateThreads = 4;
/// Evacuations of a plan are created concurrently: one creation per this many evacuation workers, because a creation
/// is one call and an eviction is at least three.
constexpr std::int32_t kWorkersPerCreator = 3;
constexpr std::int32_t kMaxCreators = 16;

}  // namespace

OperatorWorkers::OperatorWorkers(OperatorParts& parts) : parts_(parts), numbers_(parts.deps.config.workers) {}

void OperatorWorkers::run(std::stop_token stop, const std::function<void()>& meanwhile) {
  parts_.policies->set_pause([stop](base::Duration pause) { return base::sleep_unless_stopped(pause, stop); });
  parts_.policies->set_stopping([stop] { return stop.stop_requested(); });
  parts_.policies->set_executor(base::run_on_all_cores);
  parts_.policies->set_creators(
      std::clamp(parts_.deps.config.workers / kWorkersPerCreator, std::int32_t{1}, kMaxCreators));
  std::vector<std::jthread> threads;
  kube::WorkerPool evacuators(
      parts_.evacuation_queue.queue, numbers_.evacuation_workers(),
      [this](std::size_t i) { return evacuation_worker(i); }, "evacuations");
  kube::WorkerPool collectors(
      parts_.usage_queue.queue, kUsageWorkers, [this](std::size_t) { return usage_worker(); }, "usage");
  kube::WorkerPool gate_workers(
      parts_.gate_queue.queue, kGateThreads, [this](std::size_t) { return gate_worker(); }, "gates");
  for (kube::WorkerPool* pool : {&evacuators, &collectors, &gate_workers}) pool->start(stop);
  const auto start = [&](const char* name, auto work) {
    threads.emplace_back([stop, name, work = std::move(work)]() mutable {
      kube::name_this_thread(name);
      work.run(stop);
    });
  };
  for (std::size_t i = 0; i < WorkerNumbers::kPolicyWorkers; ++i) start("policies", policy_worker(i));
  start("taints", taint_worker());
  if (parts_.responder) start("responder", responder_worker());
  if (parts_.advice_service) {
    threads.emplace_back([this, stop] {
      kube::name_this_thread("advice");
      parts_.advice_service->run(stop);
    });
  }
  meanwhile();
}

bool OperatorWorkers::step_one() {
  auto workers = one_worker_per_queue();
  return std::ranges::any_of(workers, [](kube::Worker& each) { return each.step(); });
}

bool OperatorWorkers::step_all() {
  bool busy = false;
  for (kube::Worker& each : one_worker_per_queue()) {
    while (each.step()) busy = true;
  }
  return busy;
}

/// In the order in which the queues are served. Workers whose results affect plans come first.
std::vector<kube::Worker> OperatorWorkers::one_worker_per_queue() {
  std::vector<kube::Worker> workers = {gate_worker(), usage_worker(), taint_worker(), evacuation_worker(0),
                                       policy_worker(0)};
  if (parts_.responder) workers.push_back(responder_worker());
  if (parts_.advice_service) workers.push_back(parts_.advice_service->worker());
  return workers;
}

kube::Worker OperatorWorkers::worker(ControllerQueue& controller, kube::Worker::Reconcile reconcile) {
  return {controller.queue, std::move(reconcile), controller.counts, parts_.deps.log};
}

kube::Worker OperatorWorkers::evacuation_worker(std::size_t index) {
  const auto reconcile = [this](const api::ObjectKey& key) { return parts_.evacuations->reconcile(key); };
  return worker(parts_.evacuation_queue, parts_.busy.timed(reconcile, index));
}

kube::Worker OperatorWorkers::policy_worker(std::size_t index) {
  const auto reconcile = [this](const api::ObjectKey& key) { return parts_.policies->reconcile(key); };
  return worker(parts_.policy_queue, parts_.busy.timed(reconcile, numbers_.policy_worker_number(index)));
}

kube::Worker OperatorWorkers::gate_worker() {
  return worker(parts_.gate_queue, [this](const api::ObjectKey& key) { return parts_.gates->ask(key); });
}

kube::Worker OperatorWorkers::usage_worker() {
  return worker(parts_.usage_queue, [this](const api::ObjectKey& key) {
    auto collected = parts_.usage->collect(key);
    look_for_spikes();
    return collected;
  });
}

kube::Worker OperatorWorkers::taint_worker() {
  return worker(parts_.taint_queue, [this](const api::ObjectKey& node) { return parts_.taints->reconcile(node); });
}

/// REQUIRES: there is a responder.
kube::Worker OperatorWorkers::responder_worker() {
  NativeResponder& responder = *parts_.responder;
  const auto reconcile = [&responder](const api::ObjectKey& key) { return responder.reconciler.reconcile(key); };
  return {responder.queue, parts_.busy.timed(reconcile, numbers_.responder_number()), responder.counts,
          parts_.deps.log};
}

/// Checks all sources. There are few of them, and unchanged measurements have no effect.
void OperatorWorkers::look_for_spikes() {
  const NodeLookup node = [this](const std::string& name) { return parts_.caches.nodes.store().get({"", name}); };
  for (const auto& policy : parts_.caches.policies.store().list()) {
    const auto& wanted = policy->spec.schedule.triggers;
    if (std::ranges::find(wanted, api::TriggerKind::kUsageSpike, &api::ScheduleTrigger::type) == wanted.end()) continue;
    const auto figures = parts_.usage->figures(policy->meta.name);
    for (const api::ScheduleTrigger& each : wanted) {
      for (const auto& measured : figures.measured) {
        if (each.type != api::TriggerKind::kUsageSpike || measured->source != each.source) continue;
        parts_.triggers->on_usage(policy->meta.name, each.source, each.resource,
                                  highest_percent(*measured, each.resource, node));
      }
    }
  }
}

}  // namespace controllers
