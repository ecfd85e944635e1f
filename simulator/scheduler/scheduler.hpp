#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "planner/scheduling/predicates.hpp"
#include "planner/scheduling/scoring/resource_scores.hpp"
#include "simulator/actor.hpp"
#include "simulator/event_recorder.hpp"
#include "simulator/scheduler/view.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Binds pods to nodes. Applies the filters of planner/scheduling/predicates.hpp, then maximizes the sum of free
/// capacity and preferences, scored like kube-scheduler's default profile
/// (planner/scheduling/scoring/resource_scores.hpp, planner/scheduling/scoring/preferences.hpp). Ties go to the node
/// with fewer pods, then by name. A pod that does not fit gets the condition PodScheduled False (Unschedulable) and an
/// Event, and is retried when a change may help, after a backoff of 1 s that doubles up to 10 s. No preemption.
class Scheduler final : public Actor {
 public:
  Scheduler(Store& store, EventRecorder& events,
            scheduling::NodeScoring scoring = scheduling::NodeScoring::kLeastAllocated);

  std::string_view name() const override { return "default-scheduler"; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override { return backing_off_.next(); }

 private:
  struct Failure {
    std::string uid;
    int count = 0;
    base::TimePoint not_before{};
    bool parked = true;  ///< waiting for a change that may help
  };

  std::vector<api::ObjectKey> to_try(bool capacity, base::TimePoint now);
  bool place(scheduling::WhatIf& what_if, const api::ObjectKey& key, base::TimePoint now);
  bool bind(const api::ObjectKey& key, const std::string& uid, const std::string& node, base::TimePoint now);
  bool reject(const api::ObjectKey& key, const std::string& uid, const std::string& why, base::TimePoint now);

  Store& store_;
  EventRecorder& events_;
  scheduling::NodeScoring scoring_;
  SchedulerView view_;
  std::map<api::ObjectKey, Failure> failures_;
  Agenda<api::ObjectKey> backing_off_;
};

/// Returns the node that the scheduler selects for the pod, nullopt if none passes all filters.
std::optional<scheduling::NodeIndex> choose_node(
    const scheduling::FitQuery& query, scheduling::NodeScoring scoring = scheduling::NodeScoring::kLeastAllocated);

/// Returns kube-scheduler's message: "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable."
std::string unschedulable_message(const scheduling::FitQuery& query);

}  // namespace simulator
