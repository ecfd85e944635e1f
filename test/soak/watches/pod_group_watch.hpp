#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "api/pod_group.hpp"
#include "simulator/store.hpp"
#include "test/soak/decoded.hpp"

namespace soak {

/// Checks the guarantees of docs/concepts/pod-groups.md in the store: no member leaves while the vote of another one is
/// open or while a member has no Evacuation, and the configured order is kept.
class PodGroupWatch {
 public:
  using Report = std::function<void(const std::string&)>;
  using Evacuations = std::map<std::string, api::Evacuation>;  ///< by UID

  PodGroupWatch(simulator::Store& store, Report report);

  /// Call after each change of `now`. `all` contains everything that is stored.
  void check(const api::Evacuation& now, const Evacuations& all);

 private:
  struct Member {
    const api::Evacuation* evacuation = nullptr;  ///< the relevant one; nullptr if the pod has none
    const api::Pod* pod = nullptr;
    std::int32_t order = 0;
  };

  std::vector<Member> others_of(const api::Evacuation& own, const Evacuations& all);
  bool left_before(const api::Evacuation& own, const Evacuations& all) const;
  void check_votes(const api::Evacuation& own, const std::vector<Member>& others);
  void check_order(const api::Evacuation& own, const std::vector<Member>& others);

  simulator::Store& store_;
  Decoded<api::Pod> pods_;
  const Report report_;
  std::set<std::string> leaving_;  ///< UIDs of Evacuations that passed the gate
  std::set<std::string> called_;   ///< UIDs of Evacuations whose call was made
};

}  // namespace soak
