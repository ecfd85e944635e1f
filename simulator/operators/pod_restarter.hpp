#pragma once

#include <map>
#include <string>
#include <string_view>

#include "simulator/actor.hpp"
#include "simulator/journal.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// An annotation on which a workload's operator replaces the pod, such as Strimzi's manual-rolling-update.
struct RollMark {
  std::string_view actor;       ///< name of the actor, such as "strimzi-cluster-operator"
  std::string_view annotation;  ///< key, such as "strimzi.io/manual-rolling-update"
  std::string_view value;       ///< value, such as "true"
  base::Duration after;         ///< default time from the mark to the replacement, without a behaviour annotation
};

/// Deletes marked pods some time after the mark. Their controller (a StatefulSet substitutes for a StrimziPodSet)
/// recreates them under the same name. Controlled by the pod's annotation behaviour::kRoll: "roll=120s", "never"
/// (ignores the mark), "drop=5s" (removes the mark and keeps the pod).
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
  std::map<api::ObjectKey, std::string> marked_;  // with the UID
  Agenda<api::ObjectKey> agenda_;
};

/// Sets the annotation on the pod with that UID. Returns false if it is gone.
bool set_pod_annotation(Store& store, const api::ObjectKey& key, const std::string& uid, std::string_view annotation,
                        std::string_view value);

}  // namespace simulator
