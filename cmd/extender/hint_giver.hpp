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

/// Gives placement hints to pods that are being scheduled, by the rules of the placement webhook: one hint is for one
/// pod. A pod that was given one has no annotation that says so; who took which is remembered here, and counts once the
/// pod has its node. A restart forgets it. Thread-safe.
class HintGiver {
 public:
  /// Adds its indexes to the stores. REQUIRES: they are empty. All references must outlive it.
  HintGiver(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods, const kube::Store<api::Node>& nodes,
            const base::Clock& clock, const base::Clock& steady);

  /// Where that pod should go; the same answer for the same pod while the hint is open.
  std::optional<extending::PodHint> hint_for(const api::Pod& pod);

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
  std::map<std::string, Given> given_;  ///< by the pod's UID; guarded by mutex_
  controllers::placement::Hints hints_;
};

}  // namespace cmd
