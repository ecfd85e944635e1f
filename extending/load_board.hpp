#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/core/kinds.hpp"
#include "base/clock.hpp"
#include "scheduling/measured_usage.hpp"

namespace extending {

/// How full one node is, in percent, by resource of the board.
struct NodeLoad {
  std::vector<double> mean;
  std::vector<double> deviation;
};

/// What a source says of nodes and workloads, ready to be looked up. Immutable once it is made.
struct LoadBoard {
  struct Node {
    base::TimePoint time;          ///< of the newest sample
    NodeLoad load;                 ///< the mean is the higher of the smoothed figure and the newest sample
    std::vector<double> capacity;  ///< in thousandths of the resource's unit; 0: the node does not publish it
  };

  std::shared_ptr<const scheduling::MeasuredUsage> measured;
  std::vector<std::string> resources;  ///< as asked
  std::vector<bool> is_measured;       ///< by resource: the source has a column of it. One that has none counts nowhere
  std::unordered_map<std::string, Node> nodes;  ///< those with a good figure of every measured resource
  /// What a pod of a workload (UID of its controller) uses on average, in thousandths, by resource; negative: unknown.
  std::unordered_map<std::string, std::vector<double>> usual;

  bool measures_any() const;
  /// The newest answer has a row for that pod.
  bool knows_pod(const std::string& ns, const std::string& name) const;
};

/// One pass over nodes and pods, both sorted by namespace and name as stores list them. REQUIRES: measured != nullptr.
std::shared_ptr<const LoadBoard> make_load_board(std::shared_ptr<const scheduling::MeasuredUsage> measured,
                                                 std::vector<std::string> resources,
                                                 const std::vector<std::shared_ptr<const api::Node>>& nodes,
                                                 const std::vector<std::shared_ptr<const api::Pod>>& pods);

}  // namespace extending
