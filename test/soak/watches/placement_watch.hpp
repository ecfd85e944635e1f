#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "simulator/store.hpp"
#include "test/soak/decoded.hpp"

namespace soak {

/// Checks the guarantees of docs/concepts/placement.md: each hint is used by one new pod of the same controller, before
/// it expires and before its Evacuation ends, for a node that accepts pods, and the status names this pod. Uses the
/// marks on pods.
class PlacementWatch {
 public:
  using Report = std::function<void(const std::string&)>;
  using Evacuations = std::map<std::string, api::Evacuation>;  ///< by UID

  /// `store` must outlive the object.
  PlacementWatch(simulator::Store& store, Report report);

  /// Checks new pods. `all` contains the last state of every Evacuation. `is_current` means that the replica which gave
  /// the recent hints had seen all stored objects; otherwise checks that depend on it are skipped.
  void check_pods(const Evacuations& all, bool is_current);
  /// Call after each change of `now`.
  void check(const api::Evacuation& now) const;

 private:
  void check_given(const api::Pod& pod, const std::string& mark, const Evacuations& all, bool is_current);
  void check_in_time(const api::Pod& pod, const api::Evacuation& evacuation);
  void check_node(const api::Evacuation& evacuation);
  bool is_borne_by_another(const api::Pod& pod, const std::string& mark);

  simulator::Store& store_;
  Decoded<api::Pod> pods_;
  const Report report_;
  std::set<std::string> seen_;   ///< UIDs of pods
  std::set<std::string> taken_;  ///< UIDs of Evacuations whose hint was used by a pod
};

}  // namespace soak
