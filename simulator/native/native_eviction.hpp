#pragma once

/// Kubernetes' EvictionRequest API (KEP-4563, lifecycle.k8s.io/v1alpha1) in the simulated cluster, in three steps of
/// completeness: not served (nothing called), served but dead as in Kubernetes 1.37 (serve_native_eviction()), and
/// alive (run_native_eviction()). What is not here: the pod fields' dropping where the API is off, requests' limit of
/// 100, finalizers of the controller's own.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "simulator/actor.hpp"
#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "simulator/journal.hpp"
#include "simulator/native/sync.hpp"

namespace simulator {

/// Serves EvictionRequests and Evictions with the API server's own rules, and checks pods' evictionResponders. Nobody
/// works on them. Before any traffic.
void serve_native_eviction(ApiServer& server, const NativeOptions& options = {});

/// Adds the eviction controller, the default responder, which evicts, and the scripted responders of pods with
/// behaviour annotations::kResponders. `responders_left_out`: names that somebody else answers for. `server` must
/// outlive the cluster's last tick. REQUIRES: serve_native_eviction().
void run_native_eviction(Cluster& cluster, ApiServer& server, const NativeOptions& options = {},
                         std::set<std::string> responders_left_out = {});

/// The evictionrequest-controller: one Eviction per target, the turn passed from responder to responder.
class NativeEvictionController final : public Actor {
 public:
  NativeEvictionController(Store& store, NativeOptions options);

  std::string_view name() const override { return "evictionrequest-controller"; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override { return agenda_.next(); }

 private:
  void on_object(const Change& change);
  void on_pod(const Change& change);
  NativeScene scene_of(const NativeTarget& target, base::TimePoint now);
  bool sync(const NativeTarget& target, base::TimePoint now);
  bool sync_evictions(const NativeScene& scene, base::TimePoint now);
  bool write(const kube::ResourceType& type, const api::Json& before, const api::Json& after);

  Store& store_;
  const NativeOptions options_;
  Journal journal_;
  std::set<NativeTarget> known_;
  std::set<NativeTarget> dirty_;
  std::map<NativeTarget, base::TimePoint> left_at_;  ///< when the pod was first seen gone
  Agenda<NativeTarget> agenda_;
};

/// All responders: the default one posts evictions, the others follow their pod's script.
class NativeResponders final : public Actor {
 public:
  NativeResponders(Store& store, ApiServer& server, std::set<std::string> left_out);

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

}  // namespace simulator
