#pragma once

/// Kubernetes' EvictionRequest API (KEP-4563, lifecycle.k8s.io/v1alpha1) in the simulated cluster. There are three
/// levels: not served (call no function), served without controller as in Kubernetes 1.37 (serve()), and fully working
/// (run()). Not implemented: dropping of the pod fields if the API is off, the limit of 100 requests, the controller's
/// own finalizers.

#include <set>
#include <string>

#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "simulator/eviction_request/sync.hpp"

namespace simulator::eviction_request {

/// Serves EvictionRequests and Evictions with the API server's validation, and validates evictionResponders of pods. No
/// controller acts on them. Call before any traffic.
void serve(ApiServer& server, const Options& options = {});

/// Adds the eviction controller, the default responder, which evicts, and the scripted responders of pods with
/// behaviour::kResponders. `responders_left_out` are the names of responders implemented elsewhere. `server` must
/// outlive the cluster's last tick. REQUIRES: serve() was called.
void run(Cluster& cluster, ApiServer& server, const Options& options = {},
         std::set<std::string> responders_left_out = {});

}  // namespace simulator::eviction_request
