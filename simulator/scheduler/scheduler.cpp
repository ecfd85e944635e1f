#include "simulator/scheduler/scheduler.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/backoff.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;
using api::ObjectKey;
using scheduling::NodeIndex;

constexpr base::Backoff kUnschedulable{base::seconds(1), base::seconds(10)};

/// Sort key of pending pods: higher priority first, then older.
auto queue_order(const api::Pod& pod) {
  return std::make_tuple(-static_cast<std::int64_t>(pod.priority.value_or(0)), pod.meta.creation_timestamp, pod.meta.ns,
                         pod.meta.name);
}

}  // namespace

Scheduler::Scheduler(Store& store, EventRecorder& events, scheduling::NodeScoring scoring)
    : store_(store), events_(events), scoring_(scoring), view_(store) {}

bool Scheduler::tick(base::TimePoint now) {
  const bool capacity = view_.poll();
  const std::vector<ObjectKey> queue = to_try(capacity, now);
  if (queue.empty()) return false;
  const scheduling::ClusterSnapshot snapshot(view_.input());
  scheduling::WhatIf what_if(snapshot);
  bool changed = false;
  for (const ObjectKey& key : queue) changed = place(what_if, key, now) || changed;
  return changed;
}

/// Returns new pods, and failed pods for which something has changed and the backoff is over.
std::vector<ObjectKey> Scheduler::to_try(bool capacity, base::TimePoint now) {
  std::set<ObjectKey> due;
  std::erase_if(failures_, [&](const auto& entry) {
    const api::Pod* pod = view_.pod(entry.first);
    const bool outdated = !view_.pending().contains(entry.first) || !pod || pod->meta.uid != entry.second.uid;
    if (outdated) backing_off_.drop(entry.first);
    return outdated;
  });
  for (auto& [key, failure] : failures_) {
    if (!capacity || !failure.parked) continue;
    failure.parked = false;
    backing_off_.set(key, failure.not_before);
  }
  for (const ObjectKey& key : backing_off_.take_due(now)) due.insert(key);
  for (const ObjectKey& key : view_.pending()) {
    if (!failures_.contains(key)) due.insert(key);
  }
  std::vector<ObjectKey> queue(due.begin(), due.end());
  std::ranges::sort(queue, {}, [&](const ObjectKey& key) { return queue_order(*view_.pod(key)); });
  return queue;
}

bool Scheduler::place(scheduling::WhatIf& what_if, const ObjectKey& key, base::TimePoint now) {
  const auto index = what_if.base().find_pod(key.ns, key.name);
  if (!index) return false;
  const scheduling::FitQuery query(what_if, *index, scheduling::FitLevel::kScheduler);
  const std::string& uid = query.pod().meta.uid;
  const auto best = choose_node(query, scoring_);
  if (!best) return reject(key, uid, unschedulable_message(query), now);
  if (!bind(key, uid, what_if.base().node(*best).meta.name, now)) return false;
  what_if.move(*index, *best);
  return true;
}

bool Scheduler::bind(const ObjectKey& key, const std::string& uid, const std::string& node, base::TimePoint now) {
  const auto bound = store_.mutate(kube::kPods, key, Part::kAll, [&](Json& pod) -> base::Status {
    if (uid_of(pod) != uid || is_terminating(pod))
      return base::Error{base::ErrorCode::kConflict, "another pod, or a terminating one"};
    object_in(pod, "spec")["nodeName"] = node;
    put_condition(object_in(pod, "status"), "PodScheduled", "True", "", "", now);
    return base::Done{};
  });
  if (!bound) return false;
  failures_.erase(key);
  backing_off_.drop(key);
  events_.normal(name(), **bound, "Scheduled", fmt::format("Successfully assigned {} to {}", key.to_string(), node));
  return true;
}

bool Scheduler::reject(const ObjectKey& key, const std::string& uid, const std::string& why, base::TimePoint now) {
  Failure& failure = failures_[key];
  failure.uid = uid;
  failure.not_before = now + base::backoff_delay(kUnschedulable, ++failure.count);
  failure.parked = true;
  bool changed = false;
  const auto written = store_.mutate(kube::kPods, key, Part::kStatus, [&](Json& pod) -> base::Status {
    if (uid_of(pod) != uid) return base::Error{base::ErrorCode::kConflict, "another pod"};
    changed = put_condition(object_in(pod, "status"), "PodScheduled", "False", "Unschedulable", why, now);
    return base::Done{};
  });
  if (written) events_.warning(name(), **written, "FailedScheduling", why);
  return written.ok() && changed;
}

}  // namespace simulator
