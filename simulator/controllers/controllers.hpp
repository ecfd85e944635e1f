#pragma once

/// Controllers of the simulated cluster. The arguments must outlive the returned actors.

#include <memory>

#include "simulator/actor.hpp"
#include "simulator/event_recorder.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Default durations for pods without annotations (simulator/behaviour.hpp).
struct KubeletOptions {
  base::Duration start = base::seconds(1);  ///< from bound to Running
  base::Duration ready = base::seconds(1);  ///< from Running to Ready
  base::Duration stop = base::seconds(1);   ///< from deletion to removal, at most the grace period
};
std::unique_ptr<Actor> make_kubelet(Store& store, EventRecorder& events, KubeletOptions options);
std::unique_ptr<Actor> make_node_lifecycle(Store& store, EventRecorder& events);

std::unique_ptr<Actor> make_deployment_controller(Store& store, EventRecorder& events);
std::unique_ptr<Actor> make_replica_set_controller(Store& store, EventRecorder& events);
std::unique_ptr<Actor> make_stateful_set_controller(Store& store, EventRecorder& events);
std::unique_ptr<Actor> make_daemon_set_controller(Store& store, EventRecorder& events);
std::unique_ptr<Actor> make_job_controller(Store& store, EventRecorder& events);

std::unique_ptr<Actor> make_disruption_controller(Store& store, EventRecorder& events);
std::unique_ptr<Actor> make_volume_binder(Store& store);

std::unique_ptr<Actor> make_garbage_collector(Store& store);
std::unique_ptr<Actor> make_pod_garbage_collector(Store& store);
std::unique_ptr<Actor> make_namespace_controller(Store& store);

}  // namespace simulator
