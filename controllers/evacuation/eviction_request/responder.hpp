#pragma once

/// Evacuator as a responder of the EvictionRequest API (docs/evictors/eviction-request.md): a pod that names
/// evacuator.dev/responder in spec.evictionResponders is evacuated our way when it gets its turn. decide_response() is
/// pure; NativeResponderReconciler is the thin shell around it.

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

/// All that decide_response() may look at.
struct NativeTurn {
  api::ObjectKey key;                                               ///< of the Eviction
  std::optional<api::NativeEviction> eviction;                      ///< live; nullopt: it is gone
  std::shared_ptr<const api::Pod> pod;                              ///< live, with the target's UID; nullptr: it left
  std::vector<std::shared_ptr<const api::Evacuation>> evacuations;  ///< of the target, or made for this Eviction
};

/// What to write over our entry of status.responders; absent times stay as they are.
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
  std::vector<api::ObjectKey> cancel;  ///< Evacuations that were made for this Eviction
  kube::Requeue requeue;
};

ResponderDecision decide_response(const NativeTurn& seen, base::TimePoint now);

/// A heartbeat is due after this long; the API allows 20 minutes.
inline constexpr base::minutes kHeartbeatEvery{3};
/// News are told no sooner than this after the last heartbeat.
inline constexpr base::seconds kHeartbeatAtMostEvery{20};

/// Index names; add_native_responder_indexes() makes them.
inline constexpr std::string_view kEvictionsByPod = "native-pod";              ///< Evictions: "<ns>/<pod name>"
inline constexpr std::string_view kEvacuationsByEviction = "native-eviction";  ///< Evacuations: "<ns>/<Eviction>"
/// REQUIRES: the stores are still empty; add_evacuation_indexes() makes the other one that is needed.
void add_native_responder_indexes(kube::Store<api::NativeEviction>& evictions,
                                  kube::Store<api::Evacuation>& evacuations);

/// Evictions that have us among their responders.
kube::ReflectorOptions native_responder_options();

/// Reads the Eviction and its pod live, decides, writes. Rare objects: nothing is saved by trusting the cache.
/// Thread-safe for different keys.
class NativeResponderReconciler {
 public:
  struct Dependencies {
    kube::Client& client;
    const base::Clock& clock;
    const kube::Store<api::NativeEviction>& evictions;
    const kube::Store<api::Evacuation>& evacuations;
    std::function<bool()> may_act;  ///< false: not the leader (any more)
    base::Log log;
    KeySource& keys = keys_in_memory();  ///< with which it signs the Evacuations that it makes
  };

  explicit NativeResponderReconciler(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  base::Result<kube::Requeue> reconcile(const api::ObjectKey& eviction);

  /// Evictions that a change of this Evacuation or pod may concern.
  std::vector<api::ObjectKey> keys_for(const api::Evacuation& evacuation) const;
  std::vector<api::ObjectKey> keys_for(const api::Pod& pod) const;

 private:
  base::Result<NativeTurn> observe(const api::ObjectKey& key, std::string& raw);
  base::Status create(const api::Evacuation& wanted);
  base::Status report(const api::ObjectMeta& eviction, const std::string& raw, const ResponderReport& report);
  base::Status cancel(const api::ObjectKey& evacuation);

  Dependencies deps_;
};

}  // namespace controllers
