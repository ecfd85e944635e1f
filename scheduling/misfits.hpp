#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "scheduling/predicates.hpp"

namespace scheduling {

/// Why a pod fits on none of some nodes, by rule. Keeps the views of the refusals: use it while the snapshot lives.
class Misfits {
 public:
  explicit Misfits(const ClusterSnapshot& cluster) : cluster_(cluster) {}

  void add(NodeIndex node, const Refusal& refusal);
  std::size_t nodes() const { return nodes_; }
  /// The refusal that most nodes share, with their number. REQUIRES: nodes() > 0
  struct Group {
    Refusal refusal;  ///< of `node`, the first one
    NodeIndex node;
    std::size_t count = 0;
  };
  const Group& largest() const;
  /// "2 of 3 nodes: the pod does not tolerate the taint gpu (n-1 and 1 more); 1 of 3 nodes: …"; at most kMostNamed
  /// rules. "" without nodes.
  std::string text() const;

 private:
  static constexpr std::size_t kMostNamed = 3;

  const ClusterSnapshot& cluster_;
  std::vector<Group> groups_;  ///< by reason and subject
  std::size_t nodes_ = 0;
};

/// Why the pod fits on none of the nodes that `is_asked` accepts, its own left out; a rule about anything but requests
/// is named before the free capacity. Asks at most kMostAsked nodes. No nodes: none is asked, or one of them takes the
/// pod.
inline constexpr std::size_t kMostAsked = 1000;
Misfits misfits_of(const Overlay& cluster, PodIndex pod, FitLevel level,
                   const std::function<bool(NodeIndex node)>& is_asked);

}  // namespace scheduling
