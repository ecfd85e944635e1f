#pragma once

/// Kubernetes' EvictionRequest API (KEP-4563, lifecycle.k8s.io/v1alpha1) in the simulated cluster, in three steps of
/// completeness: not served (nothing called), served but dead as in Kubernetes 1.37 (serve()), and
/// alive (run()). What is not here: the pod fields' dropping where the API is off, requests' limit of
/// 100, finalizers of the controller's own.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "simulator/actor.hpp"
#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "simulator/eviction_request/sync.hpp"
#include "simulator/journal.hpp"

namespace simulator::native {

/// Serves EvictionRequests and Evictions with the API server's own rules, and checks pods' evictionResponders. Nobody
/// works on them. Before any traffic.
void serve(ApiServer& server, const Options& options = {});

/// Adds the eviction controller, the default responder, which evicts, and the scripted responders of pods with
/// behaviour::kResponders. `responders_left_out`: names that somebody else answers for. `server` must
/// outlive the cluster's last tick. REQUIRES: serve().
void run(Cluster& cluster, ApiServer& server, const Options& options = {},
         std::set<std::string> responders_left_out = {});

/// The evictionrequest-controller: one Eviction per target, the turn passed from responder to responder.
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
  std::map<Target, base::TimePoint> left_at_;  ///< when the pod was first seen gone
  Agenda<Target> agenda_;
};

/// All responders: the default one posts evictions, the others follow their pod's script.
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
  std::map<std::string, ResponderMemory> memory_;  ///< by "<uid of the Eviction> <responder>"
  Agenda<api::ObjectKey> agenda_;
};

}  // namespace simulator::native
