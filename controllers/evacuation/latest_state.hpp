#pragma once

/// The newest known state of one Evacuation and its surroundings. Internal to this folder.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core/pvc_risk.hpp"
#include "controllers/evacuation/freshness.hpp"
#include "controllers/evacuation/io.hpp"
#include "controllers/evacuation/reconciler.hpp"

namespace controllers::evacuation {

/// Whether the Evacuation still exists.
enum class Continue { kYes, kNo };

/// Answers two questions for one reconcile: what is the newest state, and may the reconcile act on it. Starts with the
/// caches, reads live objects when asked, and includes the operator's own writes and unsaved grants. Decides and
/// changes nothing.
class LatestState {
 public:
  /// `reconciler` and `key` must outlive the object. Calls `on_newer` after it has taken over a newer version of the
  /// Evacuation.
  LatestState(Reconciler& reconciler, const api::ObjectKey& key, std::function<void()> on_newer)
      : reconciler_(reconciler),
        deps_(reconciler.deps_),
        key_(key),
        keys_(deps_.keys.keys()),
        on_newer_(std::move(on_newer)) {}

  // --- what is the newest state
  /// Returns false if the caches do not have the Evacuation.
  bool observe_cached();
  /// Observes what the phase needs besides the pod: siblings, PDBs, duplicates, validity of the spec.
  void observe_surroundings();
  /// Whether nothing may be decided before the keys that verify the creator are read.
  bool waits_for_keys() const;
  /// Reads live everything that a write or call is decided on, because the caches lag.
  base::Result<Continue> refresh();
  base::Result<Continue> refresh_evacuation();
  base::Result<Continue> refresh_pod_group();
  base::Result<Continue> refresh_pvcs();
  /// Reads the documents of the evictors until they want no more.
  base::Status read_documents();
  /// Adopts the server's version and verifies its origin.
  void adopt(StoredEvacuation newer);
  /// Keeps a grant to be stored later, and applies it as if it had been stored.
  void store_later(const evictors::Action& action, const evictors::CallResult& answer);
  void forget_unsaved() {
    unsaved.reset();
    reconciler_.forget_unsaved(key_);
  }
  void take_pod_from(const evictors::Action& action, const evictors::CallResult& answer);
  evictors::CallResult send(const ServiceCall& call, const kube::Request& request,
                            const kube::Client::Fence& fence = {});

  // --- may the reconcile act on it
  bool may_act_on(const Decision& decision) {
    return may_carry_out() || is_bound_to_cached(decision) || only_records_cached_facts(decision);
  }
  /// Whether pod and Evacuation are fresh enough to carry out the result of decide().
  bool may_carry_out() const { return stored && freshness.pod_is_live(); }
  bool only_records_plain(const Decision& decision) const;
  bool is_seen_to_have_left() const;
  bool has_unknown_group() const;
  bool is_of_a_wave() const;
  std::set<std::string> nodes_emptied_with_it() const;

  Observed seen;                                    ///< input of decide()
  Freshness freshness;                              ///< freshness of `seen`
  std::optional<StoredEvacuation> stored;           ///< base of the next write
  std::optional<Reconciler::UnsavedGrant> unsaved;  ///< included in `seen` but not in `stored`
  std::vector<kube::Event> unsaved_events;          ///< Events of `unsaved`
  std::string cached_version;                       ///< resourceVersion of the cached object

 private:
  void note_departure(const api::Evacuation& cached);
  bool yields_to_us(const api::Evacuation& other) const;
  void observe_past();
  void check_spec();
  std::string placement_problem() const;
  bool policy_gone() const;
  void restore_unsaved();
  void show_unsaved();
  void observe_origin();
  void observe_creator();
  bool take_cached();
  base::Status refresh_pod();
  base::Status read_documents_of(const std::string& evictor, const std::vector<evictors::Read>& reads);
  evictors::Document evacuated_pods(const evictors::Read& read) const;
  evictors::CallResult send_to_service(const ServiceCall& call, const kube::Request& request,
                                       const kube::Client::Fence& fence);
  void observe_budgets();
  void observe_pvcs();
  void observe_scheduling_group();
  base::Status refresh_scheduling_group();
  /// Returns why deleting the pod would lose the claim's data, empty if it would not.
  static std::string explain_risk(const api::PersistentVolumeClaim& claim, const api::Pod& pod) {
    const api::PvcRisk risk = api::pvc_risk(claim, pod);
    return risk == api::PvcRisk::kNone ? std::string() : api::explain_pvc_risk(risk, claim.meta.name);
  }
  /// Whether Evacuation and eviction carry the cached versions, so that the server refuses them if the cache is stale.
  bool is_bound_to_cached(const Decision& decision);
  /// Whether the decision only records final facts from the caches.
  bool only_records_cached_facts(const Decision& decision);

  Reconciler& reconciler_;
  const Reconciler::Dependencies& deps_;
  const api::ObjectKey& key_;
  const std::shared_ptr<const crypto::KeyRing> keys_;  ///< fixed for the whole reconcile; may be nullptr
  const std::function<void()> on_newer_;
};

}  // namespace controllers::evacuation
