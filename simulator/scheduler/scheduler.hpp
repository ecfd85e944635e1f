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

/// Binds pods to nodes: the filters of planner/scheduling/predicates.hpp, then the best sum of free capacity and
/// preferences, as kube-scheduler's default profile scores them (planner/scheduling/scoring/resource_scores.hpp,
/// planner/scheduling/scoring/preferences.hpp); ties go to the node with fewer pods, then by name. What does not fit
/// gets condition PodScheduled False (Unschedulable) and an event and is tried again when something changes that may
/// help, after a pause of 1 s that doubles up to 10 s. No preemption.
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
    bool parked = true;  ///< waits for a change that may help
  };

  std::vector<api::ObjectKey> to_try(bool capacity, base::TimePoint now);
  bool place(scheduling::WhatIf& overlay, const api::ObjectKey& key, base::TimePoint now);
  bool bind(const api::ObjectKey& key, const std::string& uid, const std::string& node, base::TimePoint now);
  bool reject(const api::ObjectKey& key, const std::string& uid, const std::string& why, base::TimePoint now);

  Store& store_;
  EventRecorder& events_;
  scheduling::NodeScoring scoring_;
  SchedulerView view_;
  std::map<api::ObjectKey, Failure> failures_;
  Agenda<api::ObjectKey> backing_off_;
};

/// The node that the scheduler takes for the pod; nullopt: none passes all filters.
std::optional<scheduling::NodeIndex> choose_node(
    const scheduling::FitQuery& query, scheduling::NodeScoring scoring = scheduling::NodeScoring::kLeastAllocated);

/// kube-scheduler's sentence: "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable."
std::string unschedulable_message(const scheduling::FitQuery& query);

}  // namespace simulator
