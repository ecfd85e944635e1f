#include "simulator/scheduler/scheduler.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/backoff.hpp"
#include "planner/scheduling/scoring/preferences.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/scheduler/view.hpp"

namespace simulator {
namespace {

using api::Json;
using api::ObjectKey;
using scheduling::FitQuery;
using scheduling::NodeIndex;

constexpr base::Backoff kUnschedulable{base::seconds(1), base::seconds(10)};

/// Sort key of pending pods: higher priority first, then older.
auto queue_order(const api::Pod& pod) {
  return std::make_tuple(-static_cast<std::int64_t>(pod.priority.value_or(0)), pod.meta.creation_timestamp, pod.meta.ns,
                         pod.meta.name);
}

/// Returns kube-scheduler's text for a refusal.
std::string words_for(const scheduling::Refusal& refusal) {
  if (refusal.reason == "InsufficientResource") {
    return refusal.subject == "pods" ? "Too many pods" : fmt::format("Insufficient {}", refusal.subject);
  }
  if (refusal.reason == "NodeCordoned") return "node(s) were unschedulable";
  if (refusal.reason == "NodeNotReady") return "node(s) were not ready";
  if (refusal.reason == "NodeSelectorMismatch") return "node(s) didn't match Pod's node affinity/selector";
  if (refusal.reason == "UntoleratedTaint") return fmt::format("node(s) had untolerated taint {{{}}}", refusal.subject);
  if (refusal.reason == "HostPortInUse") return "node(s) didn't have free ports for the requested pod ports";
  if (refusal.reason == "ClaimNotFound") return fmt::format("persistentvolumeclaim \"{}\" not found", refusal.subject);
  if (refusal.reason == "VolumeNodeMismatch") return "node(s) had volume node affinity conflict";
  if (refusal.reason == "AntiAffinity") return "node(s) didn't match pod anti-affinity rules";
  if (refusal.reason == "ExistingAntiAffinity") return "node(s) didn't satisfy existing pods anti-affinity rules";
  if (refusal.reason == "AffinityUnsatisfied") return "node(s) didn't match pod affinity rules";
  if (refusal.reason == "TopologySpread") return "node(s) didn't match pod topology spread constraints";
  return std::string(refusal.reason);
}

/// Returns kube-scheduler's message: "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable."
std::string unschedulable_message(const FitQuery& query) {
  std::map<std::string, int> counts;
  for (const NodeIndex node : query.base().nodes()) {
    if (const auto refusal = query.refusal(node)) ++counts[words_for(*refusal)];
  }
  if (query.base().node_count() == 0) return "no nodes available to schedule pods";
  std::vector<std::string> parts;
  for (const auto& [words, count] : counts) parts.push_back(fmt::format("{} {}", count, words));
  std::ranges::sort(parts);
  return fmt::format("0/{} nodes are available: {}.", query.base().node_count(), fmt::join(parts, ", "));
}

class Scheduler final : public Actor {
 public:
  Scheduler(Store& store, EventRecorder& events, scheduling::NodeScoring scoring)
      : store_(store), events_(events), scoring_(scoring), view_(store) {}

  std::string_view name() const override { return "default-scheduler"; }

  bool tick(base::TimePoint now) override {
    const bool capacity = view_.poll();
    const std::vector<ObjectKey> queue = to_try(capacity, now);
    if (queue.empty()) return false;
    const scheduling::ClusterSnapshot snapshot(view_.input());
    scheduling::WhatIf what_if(snapshot);
    bool changed = false;
    for (const ObjectKey& key : queue) changed = place(what_if, key, now) || changed;
    return changed;
  }

  std::optional<base::TimePoint> next_due() const override { return backing_off_.next(); }

 private:
  struct Failure {
    std::string uid;
    int count = 0;
    base::TimePoint not_before{};
    bool parked = true;  ///< waiting for a change that may help
  };

  /// Returns new pods, and failed pods for which something has changed and the backoff is over.
  std::vector<ObjectKey> to_try(bool capacity, base::TimePoint now) {
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

  bool place(scheduling::WhatIf& what_if, const ObjectKey& key, base::TimePoint now) {
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

  bool bind(const ObjectKey& key, const std::string& uid, const std::string& node, base::TimePoint now) {
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

  bool reject(const ObjectKey& key, const std::string& uid, const std::string& why, base::TimePoint now) {
    Failure& failure = failures_[key];
    failure.uid = uid;
    failure.not_before = now + base::backoff_delay(kUnschedulable, ++failure.count);
    failure.parked = true;
    bool changed = false;
    const auto written = store_.edit(kube::kPods, key, Part::kStatus, uid, [&](Json& pod) {
      changed = put_condition(object_in(pod, "status"), "PodScheduled", "False", "Unschedulable", why, now);
    });
    if (written) events_.warning(name(), *written, "FailedScheduling", why);
    return written && changed;
  }

  Store& store_;
  EventRecorder& events_;
  scheduling::NodeScoring scoring_;
  SchedulerView view_;
  std::map<api::ObjectKey, Failure> failures_;
  Agenda<api::ObjectKey> backing_off_;
};

}  // namespace

std::unique_ptr<Actor> make_scheduler(Store& store, EventRecorder& events, scheduling::NodeScoring scoring) {
  return std::make_unique<Scheduler>(store, events, scoring);
}

/// Ties go to the node with fewer pods, then to the first by name, which is the order of the indices.
std::optional<NodeIndex> choose_node(const FitQuery& query, scheduling::NodeScoring scoring) {
  const scheduling::ResourceScores scores(scoring);
  std::vector<NodeIndex> candidates;
  std::vector<int> capacity;
  for (const NodeIndex node : query.base().nodes()) {
    if (!query.fits(node)) continue;
    candidates.push_back(node);
    capacity.push_back(scores.score(query.cluster(), query.index(), node));
  }
  if (candidates.empty()) return std::nullopt;
  const auto& pods = query.cluster().used().column(scheduling::kPodsIndex);
  const auto best = scheduling::best_nodes(scheduling::Preferences(query), candidates, capacity);
  return *std::ranges::min_element(best, {}, [&](NodeIndex node) { return pods[node]; });
}

}  // namespace simulator
