#pragma once

/// Usage history of one container, accumulated from live samples when no metrics server has a history. Pure; takes no
/// clock.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "advisor/history.hpp"

namespace advisor {

/// Aggregates samples, in the order of days, into kMaxDays closed days, the open day with its sketch, and sketches of
/// kMaxSketches periods of kSketchDays for percentiles. Bounded to about 8 KB. Not thread-safe.
class RollingHistory {
 public:
  static constexpr int kMaxDays = 14;
  /// Sketches older than the kMaxSketches newest periods are dropped completely.
  static constexpr int kSketchDays = 7;
  static constexpr std::size_t kMaxSketches = 2;

  struct Parts {
    std::map<Day, DayUsage> closed{};  ///< at most kMaxDays
    std::optional<Day> day{};          ///< date of `open`; later than all of `closed`
    DaySamples open{};
    std::map<int, QuantileSketch> sketches{};  ///< sketches of closed days, by day / kSketchDays; at most kMaxSketches
    DiscardedSamples oddities{};
    base::TimePoint first{};  ///< first sample
    base::TimePoint last{};
    std::uint64_t samples = 0;  ///< total, including dropped ones
  };

  RollingHistory() = default;
  /// `parts` must come from parts() of a RollingHistory.
  explicit RollingHistory(Parts parts) : parts_(std::move(parts)) {}

  /// Adds a sample of any pod of the workload. Implausible figures and samples of closed days count as oddities.
  void add(base::TimePoint time, double cpu, double memory, bool is_startup);
  /// Adds what a previous process recorded of the same container. No sample may be in both.
  void merge(const RollingHistory& earlier);

  /// Returns the input of advice, including the open day.
  ContainerHistory history() const;
  const Parts& parts() const { return parts_; }
  bool empty() const { return parts_.samples == 0; }

 private:
  void begin(Day day);
  void close();
  void forget();

  Parts parts_;
};

}  // namespace advisor
