#pragma once

/// Estimates the load of recently arrived pods that samples of a node do not show yet. Pure. Uses the times of the
/// samples, not those at which responses arrived.

#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "cmd/extender/load_model.hpp"

namespace extender {

/// A pod that arrived on a node. Amounts are in thousandths, indexed by resource of the LoadModel.
struct Arrival {
  std::optional<base::TimePoint> running;  ///< start of the containers, nullopt if not started yet
  std::vector<double> expected;            ///< expected usage
  std::vector<double> measured;            ///< usage in the newest response; negative if the response has none
};

/// Time after which a started pod is assumed to reach its expected usage. Earlier measurements of the pod may be too
/// low.
inline constexpr base::seconds kWarmUp{90};

/// Returns the share, 0 to 1, of a pod's usage that a sample at `sample` includes. Assumes the minimum if the sample
/// may be older than its timestamp, because a node that appears too empty attracts all following pods.
double share_shown(const std::optional<base::TimePoint>& running, base::TimePoint sample, base::Duration window,
                   base::Duration lag);

/// Returns true if the pod's own measurement is its final usage and the sample at `time` includes all of it.
bool is_settled(const Arrival& arrival, base::TimePoint time, const LoadModel& board);

/// Returns the load of the node plus the load of the arrivals that samples do not include yet. The addition applies to
/// each sample, so that a rise caused by arrivals does not count as variation.
NodeLoad with_arrivals(const LoadModel& board, const LoadModel::Node& node, std::span<const Arrival> arrivals);

}  // namespace extender
