#pragma once

/// Evacuator as a responder of the EvictionRequest API (docs/evictors/eviction-request.md). A pod that lists
/// evacuator.dev/responder in spec.evictionResponders is evacuated by an Evacuation when this responder becomes active.
/// decide_response() is pure; ResponderReconciler is the thin shell around it.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "api/eviction_request.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "controllers/evacuation/origin/keys.hpp"
#include "kube/client.hpp"
#include "kube/runtime/informer.hpp"
#include "kube/runtime/requeue.hpp"
#include "kube/runtime/store.hpp"

namespace controllers {

/// Input of decide_response().
struct ResponderInput {
  api::ObjectKey key;                           ///< key of the Eviction
  std::optional<api::NativeEviction> eviction;  ///< live; nullopt if it is gone
  std::shared_ptr<const api::Pod> pod;          ///< live, with the target's UID; nullptr if it has left
  /// Evacuations of the target or created for this Eviction
  std::vector<std::shared_ptr<const api::Evacuation>> evacuations;
};

/// Values to write to our entry of status.responders. Absent times are left unchanged.
struct ResponderReport {
  base::TimePoint heartbeat{};
  std::optional<base::TimePoint> expected_completion;
  std::optional<base::TimePoint> completion;
  std::string message;
  friend bool operator==(const ResponderReport&, const ResponderReport&) = default;
};

struct ResponderDecision {
  std::optional<api::Evacuation> create;
  std::optional<ResponderReport> report;
  std::vector<api::ObjectKey> cancel;  ///< Evacuations created for this Eviction that should be cancelled
  kube::Requeue requeue;
};

ResponderDecision decide_response(const ResponderInput& seen, base::TimePoint now);

/// Heartbeat interval; the API allows 20 minutes.
inline constexpr base::minutes kMaxHeartbeatInterval{3};
/// Minimum time between the last heartbeat and a report with news.
inline constexpr base::seconds kMinHeartbeatInterval{20};

/// Index names, created by add_native_responder_indexes().
inline constexpr std::string_view kEvictionsByPod = "native-pod";              ///< Evictions: "<ns>/<pod name>"
inline constexpr std::string_view kEvacuationsByEviction = "native-eviction";  ///< Evacuations: "<ns>/<Eviction>"
/// REQUIRES: the stores are still empty. Needs an index of add_evacuation_indexes() as well.
void add_native_responder_indexes(kube::Store<api::NativeEviction>& evictions,
                                  kube::Store<api::Evacuation>& evacuations);

/// Selects the Evictions that list this responder.
kube::ReflectorOptions native_responder_options();

/// Reads the Eviction and its pod live, decides and writes. Evictions are rare, so the cache would not save requests
/// worth mentioning. Thread-safe for different keys.
class ResponderReconciler {
 public:
  struct Dependencies {
    kube::Client& client;
    const base::Clock& clock;
    const kube::Store<api::NativeEviction>& evictions;
    const kube::Store<api::Evacuation>& evacuations;
    std::function<bool()> may_act;  ///< false if not the leader (any more)
    base::Log log;
    KeySource& keys = process_keys();  ///< sign the Evacuations that it creates
  };

  explicit ResponderReconciler(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  base::Result<kube::Requeue> reconcile(const api::ObjectKey& eviction);

  /// Evictions that a change of this Evacuation or pod may concern.
  std::vector<api::ObjectKey> keys_for(const api::Evacuation& evacuation) const;
  std::vector<api::ObjectKey> keys_for(const api::Pod& pod) const;

 private:
  base::Result<ResponderInput> observe(const api::ObjectKey& key, std::string& raw);
  base::Status create(const api::Evacuation& wanted);
  base::Status report(const api::ObjectMeta& eviction, const std::string& raw, const ResponderReport& report);
  base::Status cancel(const api::ObjectKey& evacuation);

  Dependencies deps_;
};

}  // namespace controllers
