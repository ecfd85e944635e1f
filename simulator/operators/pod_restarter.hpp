#pragma once

#include <map>
#include <string>
#include <string_view>

#include "simulator/actor.hpp"
#include "simulator/journal.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// An annotation that makes a workload's operator remove a pod: Strimzi's manual-rolling-update and its kind.
struct RollMark {
  std::string_view actor;       ///< "strimzi-cluster-operator"
  std::string_view annotation;  ///< "strimzi.io/manual-rolling-update"
  std::string_view value;       ///< "true"
  base::Duration after;         ///< from the mark to the roll, unless the pod's behaviour annotation says otherwise
};

/// Deletes marked pods some time after the mark; their controller (a StatefulSet stands in for a StrimziPodSet) makes
/// them again under the same name. By the pod's annotation behaviour::kRoll: "roll=120s", "never" (it gives
/// up silently), "drop=5s" (takes the mark off and leaves the pod).
class PodRestarter final : public Actor {
 public:
  PodRestarter(Store& store, RollMark mark);

  std::string_view name() const override { return mark_.actor; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override { return agenda_.next(); }

 private:
  void on_pod(const Change& change);
  bool finish(const api::ObjectKey& key);

  Store& store_;
  const RollMark mark_;
  Journal journal_;
  base::TimePoint now_{};
  std::map<api::ObjectKey, std::string> marked_;  // with the uid
  Agenda<api::ObjectKey> agenda_;
};

/// Sets that annotation on that very pod. False: it is gone.
bool set_pod_annotation(Store& store, const api::ObjectKey& key, const std::string& uid, std::string_view annotation,
                        std::string_view value);

}  // namespace simulator
