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

namespace extender {

/// Load of a node in percent, indexed by resource of the LoadModel.
struct NodeLoad {
  std::vector<double> mean;
  std::vector<double> deviation;
};

/// Time after which a started pod is assumed to reach its expected usage. Earlier measurements of the pod may be too
/// low.
inline constexpr base::seconds kWarmUp{90};

/// Measurements of a source about nodes and workloads, indexed for lookup. Immutable after construction.
struct LoadModel {
  struct Node {
    base::TimePoint time;          ///< time of the newest sample
    NodeLoad load;                 ///< mean is the maximum of the smoothed value and the newest sample
    std::vector<double> capacity;  ///< in thousandths of the resource's unit; 0 if the node does not publish it
    /// Times of the samples, oldest first. The last one equals `time`.
    std::vector<base::TimePoint> times;
    std::vector<double> samples;  ///< percentages, resources.size() values per time; NaN if unknown
  };

  std::shared_ptr<const scheduling::MeasuredUsage> measured;
  std::vector<std::string> resources;  ///< requested resources
  std::vector<std::optional<std::size_t>>
      columns;                          ///< by resource: column of `measured`; resources without a column are ignored
  std::vector<base::Duration> windows;  ///< by resource: averaging window of a sample
  std::vector<base::Duration> lags;     ///< by resource: maximum age of a sample relative to its timestamp
  std::unordered_map<std::string, Node> nodes;  ///< nodes with a valid value for every measured resource
  /// Average usage of a workload's pods, in thousandths, by resource. Negative if unknown.
  struct Usual {
    std::vector<double> warm;  ///< of pods that have warmed up
    std::vector<double> cold;  ///< of pods that have not; a lower bound for warm pods
  };
  std::unordered_map<std::string, Usual> usual;  ///< by UID of the workload's controller
  /// Ratio of usage to requests over the cluster's warm pods, by resource: 0.1 to 2, or 1 if too few pods are known.
  std::vector<double> usage_ratio;

  bool is_measured(std::size_t resource) const { return columns[resource].has_value(); }
  /// Returns the index of a measured resource in `resources`, nullopt if it is not measured.
  std::optional<std::size_t> place_of(const std::string& resource) const;
  /// Returns the maximum age of data in a sample: window plus lag.
  base::Duration max_sample_age() const;
  /// Returns the pod's usage in the newest response, in thousandths by resource. Negative if unknown.
  std::vector<double> use_of(const std::string& ns, const std::string& name) const;
};

/// Returns the pod's requests in thousandths. Like the scheduler's scoring, assumes default requests for a pod without
/// requests.
std::vector<double> requests_of(const api::Pod& pod, const std::vector<std::string>& resources);

/// Returns the population standard deviation, 0 for fewer than two values.
double deviation_of(const std::vector<double>& values);

/// Builds the model in one pass over nodes and pods, which must be sorted by namespace and name like store listings.
/// REQUIRES: measured != nullptr.
std::shared_ptr<const LoadModel> make_load_model(std::shared_ptr<const scheduling::MeasuredUsage> measured,
                                                 std::vector<std::string> resources,
                                                 const std::vector<std::shared_ptr<const api::Node>>& nodes,
                                                 const std::vector<std::shared_ptr<const api::Pod>>& pods);

}  // namespace extender
