#pragma once

#include <memory>
#include <optional>

#include "planner/scheduling/predicates.hpp"
#include "planner/scheduling/scoring/resource_scores.hpp"
#include "simulator/actor.hpp"
#include "simulator/event_recorder.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Returns an actor that binds pods to nodes. Applies the filters of planner/scheduling/predicates.hpp, then maximizes
/// the sum of free capacity and preferences, scored like kube-scheduler's default profile
/// (planner/scheduling/scoring/resource_scores.hpp, planner/scheduling/scoring/preferences.hpp). Ties go to the node
/// with fewer pods, then by name. A pod that does not fit gets the condition PodScheduled False (Unschedulable) and an
/// Event, and is retried when a change may help, after a backoff of 1 s that doubles up to 10 s. No preemption. The
/// store and the recorder must outlive the actor.
std::unique_ptr<Actor> make_scheduler(Store& store, EventRecorder& events, scheduling::NodeScoring scoring);

/// Returns the node that the scheduler selects for the pod, nullopt if none passes all filters.
std::optional<scheduling::NodeIndex> choose_node(
    const scheduling::FitQuery& query, scheduling::NodeScoring scoring = scheduling::NodeScoring::kLeastAllocated);

}  // namespace simulator
