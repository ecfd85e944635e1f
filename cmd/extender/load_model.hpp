#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/core/kinds.hpp"
#include "base/clock.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace extending {

/// How full one node is, in percent, by resource of the board.
struct NodeLoad {
  std::vector<double> mean;
  std::vector<double> deviation;
};

/// What a source says of nodes and workloads, ready to be looked up. Immutable once it is made.
struct LoadModel {
  struct Node {
    base::TimePoint time;          ///< of the newest sample
    NodeLoad load;                 ///< the mean is the higher of the smoothed figure and the newest sample
    std::vector<double> capacity;  ///< in thousandths of the resource's unit; 0: the node does not publish it
    /// The last samples, oldest first; the last one is of `time`.
    std::vector<base::TimePoint> times;
    std::vector<double> samples;  ///< in percent, `resources` of the board for each of the times; NaN: unknown
  };

  std::shared_ptr<const scheduling::MeasuredUsage> measured;
  std::vector<std::string> resources;               ///< as asked
  std::vector<std::optional<std::size_t>> columns;  ///< by resource: of `measured`. One that has none counts nowhere
  std::vector<base::Duration> windows;              ///< by resource: a sample is the mean over so long
  std::vector<base::Duration> lags;                 ///< by resource: a sample may be that much older than its time
  std::unordered_map<std::string, Node> nodes;      ///< those with a good figure of every measured resource
  /// What a pod of a workload uses on average, in thousandths, by resource; negative: unknown.
  struct Usual {
    std::vector<double> warm;  ///< of pods that run for long enough
    std::vector<double> cold;  ///< of those that do not: a warm one uses that much at least
  };
  std::unordered_map<std::string, Usual> usual;  ///< by the UID of the workload's controller
  /// What warm pods of the cluster use of what they ask for, by resource: 0.1 to 2; 1 where too few are known.
  std::vector<double> of_requests;

  bool is_measured(std::size_t resource) const { return columns[resource].has_value(); }
  bool measures_any() const;
  /// Where a resource that is measured stands among `resources`.
  std::optional<std::size_t> place_of(const std::string& resource) const;
  /// How far back a sample looks, at most.
  base::Duration longest_look() const;
  /// What the newest answer says of the pod, in thousandths by resource; negative: nothing.
  std::vector<double> use_of(const std::string& ns, const std::string& name) const;
};

/// What the pod asks for as the scheduler scores it, in thousandths: who asks for nothing uses something all the same.
std::vector<double> requests_of(const api::Pod& pod, const std::vector<std::string>& resources);

/// Of all values of a population; 0 where there are fewer than two.
double deviation_of(const std::vector<double>& values);

/// One pass over nodes and pods, both sorted by namespace and name as stores list them. REQUIRES: measured != nullptr.
std::shared_ptr<const LoadModel> make_load_model(std::shared_ptr<const scheduling::MeasuredUsage> measured,
                                                 std::vector<std::string> resources,
                                                 const std::vector<std::shared_ptr<const api::Node>>& nodes,
                                                 const std::vector<std::shared_ptr<const api::Pod>>& pods);

}  // namespace extending
