#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "simulator/actor.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// An annotation on which a workload's operator replaces the pod, such as Strimzi's manual-rolling-update.
struct RollMark {
  std::string_view actor;       ///< name of the actor, such as "strimzi-cluster-operator"
  std::string_view annotation;  ///< key, such as "strimzi.io/manual-rolling-update"
  std::string_view value;       ///< value, such as "true"; empty for any value
  base::Duration after;         ///< default time from the mark to the replacement, without an annotation `script`
  std::string_view script = behaviour::kRoll;          ///< annotation of the pod that controls the replacement
  bool (*takes_part)(const api::Json& pod) = nullptr;  ///< if set, marks of other pods are ignored
};

/// Returns an actor that deletes marked pods some time after the mark. Their controller (a StatefulSet substitutes for
/// a StrimziPodSet) recreates them. Scripts: "roll=120s"; "never" or "silent" ignores the mark; "drop=5s" or "fail=5s"
/// removes the mark and keeps the pod. The store must outlive the actor.
std::unique_ptr<Actor> make_pod_restarter(Store& store, RollMark mark);

/// Sets the annotation on the pod with that UID. Returns false if it is gone.
bool set_pod_annotation(Store& store, const api::ObjectKey& key, const std::string& uid, std::string_view annotation,
                        std::string_view value);

}  // namespace simulator
