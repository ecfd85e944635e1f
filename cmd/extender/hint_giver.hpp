#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "cmd/extender/decision.hpp"
#include "controllers/webhooks/placement/hints.hpp"
#include "kube/runtime/store.hpp"

namespace cmd {

/// Assigns placement hints to pods that are being scheduled, by the rules of the placement webhook: a hint applies to
/// one pod. These pods have no annotation that records the hint, so assignments are kept in memory. An assignment
/// counts once the pod has a node, and is lost on restart. Thread-safe.
class HintAssigner {
 public:
  /// Adds indexes to the stores. REQUIRES: the stores are empty. All references must outlive this object.
  HintAssigner(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods,
               const kube::Store<api::Node>& nodes, const base::Clock& clock, const base::Clock& steady);

  /// Returns the hint for the pod. Repeated calls return the same hint while it is open.
  std::optional<extender::PodHint> hint_for(const api::Pod& pod);

 private:
  static constexpr std::size_t kMaxRemembered = 10'000;
  static constexpr base::minutes kRemembered{60};
  struct Given {
    std::string mark;
    base::TimePoint until;
  };
  std::string mark_of(const api::Pod& pod) const;
  void remember(const std::string& pod_uid, std::string mark);

  const base::Clock& steady_;
  mutable std::mutex mutex_;
  std::map<std::string, Given> given_;  ///< by UID of the pod; guarded by mutex_
  controllers::placement::Hints hints_;
};

}  // namespace cmd
