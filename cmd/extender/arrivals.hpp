#pragma once

/// What samples of a node do not show of pods that came lately. Pure; no clock: the times of the samples decide, not
/// those of the answers that brought them.

#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "cmd/extender/load_model.hpp"

namespace extending {

/// A pod that came to a node. Amounts in thousandths, by resource of the board.
struct Arrival {
  std::optional<base::TimePoint> running;  ///< since when its containers run; absent: not yet
  std::vector<double> expected;            ///< what it will use
  std::vector<double> measured;            ///< what the newest answer says that it uses; negative: nothing
};

/// A pod uses what it will use after so long at the latest: until then a figure of its own may be too low.
inline constexpr base::seconds kWarmUp{90};

/// How much of a pod's use a sample of that time shows: 0 … 1. The least that it may be where the sample may be older
/// than its date: a node that looks too empty draws all the pods that follow.
double share_shown(const std::optional<base::TimePoint>& running, base::TimePoint sample, base::Duration window,
                   base::Duration lag);

/// Its own figure says what it uses, and the sample at `time` shows all of it.
bool is_settled(const Arrival& arrival, base::TimePoint time, const LoadModel& board);

/// The load of the node with what its samples do not show of those pods yet. What they bring counts in each of the
/// samples, so that a load that rose because pods came is no variation.
NodeLoad with_arrivals(const LoadModel& board, const LoadModel::Node& node, std::span<const Arrival> arrivals);

}  // namespace extending
