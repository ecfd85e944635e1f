#pragma once

/// Kubernetes' EvictionRequest API (KEP-4563, lifecycle.k8s.io/v1alpha1) in the simulated cluster. There are three
/// levels: not served (call no function), served without controller as in Kubernetes 1.37 (serve()), and fully working
/// (run()). Not implemented: dropping of the pod fields if the API is off, the limit of 100 requests, the controller's
/// own finalizers.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "simulator/actor.hpp"
#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "simulator/eviction_request/sync.hpp"
#include "simulator/journal.hpp"

namespace simulator::eviction_request {

/// Serves EvictionRequests and Evictions with the API server's validation, and validates evictionResponders of pods. No
/// controller acts on them. Call before any traffic.
void serve(ApiServer& server, const Options& options = {});

/// Adds the eviction controller, the default responder, which evicts, and the scripted responders of pods with
/// behaviour::kResponders. `responders_left_out` are the names of responders implemented elsewhere. `server` must
/// outlive the cluster's last tick. REQUIRES: serve() was called.
void run(Cluster& cluster, ApiServer& server, const Options& options = {},
         std::set<std::string> responders_left_out = {});

/// The evictionrequest-controller: creates one Eviction per target and activates its responders one after the other.
class EvictionController final : public Actor {
 public:
  EvictionController(Store& store, Options options);

  std::string_view name() const override { return "evictionrequest-controller"; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override { return agenda_.next(); }

 private:
  void on_object(const Change& change);
  void on_pod(const Change& change);
  TargetState state_of(const Target& target, base::TimePoint now);
  bool sync(const Target& target, base::TimePoint now);
  bool sync_evictions(const TargetState& state, base::TimePoint now);
  bool write(const kube::ResourceType& type, const api::Json& before, const api::Json& after);

  Store& store_;
  const Options options_;
  Journal journal_;
  std::set<Target> known_;
  std::set<Target> dirty_;
  std::map<Target, base::TimePoint> left_at_;  ///< time when the pod was first seen gone
  Agenda<Target> agenda_;
};

/// All responders: the default one posts evictions, the others follow the script of their pod.
class Responders final : public Actor {
 public:
  Responders(Store& store, ApiServer& server, std::set<std::string> left_out);

  std::string_view name() const override { return "native-responders"; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override { return agenda_.next(); }

 private:
  bool look_at(const api::ObjectKey& key, base::TimePoint now);
  bool carry_out(const api::Json& eviction, const std::string& responder, const ResponderStep& step,
                 ResponderMemory& memory, base::TimePoint now);
  bool evict(const api::Json& eviction, ResponderMemory& memory, base::TimePoint now);
  bool report(const api::Json& eviction, const std::string& responder, const api::Json& entry);

  Store& store_;
  ApiServer& server_;
  const std::set<std::string> left_out_;
  Journal journal_;
  std::set<api::ObjectKey> dirty_;
  std::map<std::string, ResponderMemory> memory_;  ///< by "<UID of the Eviction> <responder>"
  Agenda<api::ObjectKey> agenda_;
};

}  // namespace simulator::eviction_request
