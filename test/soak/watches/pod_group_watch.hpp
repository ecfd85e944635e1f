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

/// What docs/concepts/pod-groups.md promises, as an outsider sees it in the store: nobody of a PodGroup leaves while
/// the vote of another one is open, nobody leaves while one of them was not asked to, and the stated order is kept.
class PodGroupWatch {
 public:
  using Report = std::function<void(const std::string&)>;
  using Evacuations = std::map<std::string, api::Evacuation>;  ///< by uid

  PodGroupWatch(simulator::Store& store, Report report);

  /// After a change of `now`; `all` is everything that is stored at this moment.
  void check(const api::Evacuation& now, const Evacuations& all);

 private:
  struct Member {
    const api::Evacuation* evacuation = nullptr;  ///< the one that counts; nullptr: nobody asked
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
  std::set<std::string> leaving_;  ///< uids of Evacuations that passed the gate
  std::set<std::string> called_;   ///< … whose call was made
};

}  // namespace soak
