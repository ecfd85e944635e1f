#include "cmd/extender/arrivals.hpp"

#include <algorithm>
#include <cmath>

namespace extender {
namespace {

/// Returns the usage missing in the newest sample: the share that it does not include yet, and the growth expected
/// while the pod warms up.
double missing_now(const LoadModel& board, base::TimePoint time, const Arrival& arrival, std::size_t r) {
  const double expected = arrival.expected[r];
  const double shown = share_shown(arrival.running, time, board.windows[r], board.lags[r]);
  const double measured = arrival.measured[r];
  const double colder = measured < 0 || is_settled(arrival, time, board) ? 0 : std::max(expected - measured, 0.0);
  return expected * (1 - shown) + colder * shown;
}

/// Returns the usage missing in an older sample. Uses the measured usage if the pod is settled, else the expected
/// usage.
double missing_then(const LoadModel& board, base::TimePoint sample, base::TimePoint newest, const Arrival& arrival,
                    std::size_t r) {
  const bool is_known = arrival.measured[r] >= 0 && is_settled(arrival, newest, board);
  const double use = is_known ? arrival.measured[r] : arrival.expected[r];
  return use * (1 - share_shown(arrival.running, sample, board.windows[r], board.lags[r]));
}

double deviation_with(const LoadModel& board, const LoadModel::Node& node, std::span<const Arrival> arrivals,
                      std::size_t r) {
  const std::size_t resources = board.resources.size();
  std::vector<double> percents;
  for (std::size_t i = 0; i < node.times.size(); ++i) {
    double percent = node.samples[i * resources + r];
    if (std::isnan(percent)) continue;
    double missing = 0;
    const bool is_newest = i + 1 == node.times.size();
    for (const Arrival& each : arrivals)
      missing +=
          is_newest ? missing_now(board, node.time, each, r) : missing_then(board, node.times[i], node.time, each, r);
    percents.push_back(percent + missing / node.capacity[r] * 100);
  }
  return deviation_of(percents);
}

}  // namespace

double share_shown(const std::optional<base::TimePoint>& running, base::TimePoint sample, base::Duration window,
                   base::Duration lag) {
  if (!running) return 0;
  const base::Duration age = sample - lag - *running;
  if (window <= base::Duration::zero()) return age >= base::Duration::zero() ? 1 : 0;
  return std::clamp(std::chrono::duration<double>(age) / window, 0.0, 1.0);
}

bool is_settled(const Arrival& arrival, base::TimePoint time, const LoadModel& board) {
  return arrival.running && time - board.max_sample_age() >= *arrival.running + kWarmUp;
}

NodeLoad with_arrivals(const LoadModel& board, const LoadModel::Node& node, std::span<const Arrival> arrivals) {
  NodeLoad load = node.load;
  for (std::size_t r = 0; r < board.resources.size(); ++r) {
    if (!board.is_measured(r) || node.capacity[r] <= 0) continue;
    double missing = 0;
    for (const Arrival& each : arrivals) missing += missing_now(board, node.time, each, r);
    load.mean[r] += missing / node.capacity[r] * 100;
    if (!arrivals.empty()) load.deviation[r] = deviation_with(board, node, arrivals, r);
  }
  return load;
}

}  // namespace extender
