#pragma once

/// One container's past as it comes in, for whoever has no history to ask. Pure; no clock.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "advisor/history.hpp"

namespace advising {

/// Takes samples in the order of days and keeps days, not samples: kMaxDays closed ones, the newest with its sketch,
/// and sketches of two times kSketchDays for percentiles. About 8 KB, however many samples there were. Not thread-safe.
class RollingHistory {
 public:
  static constexpr int kMaxDays = 14;
  /// A sketch that is older than the one before the newest is forgotten as a whole.
  static constexpr int kSketchDays = 7;
  static constexpr std::size_t kMaxSketches = 2;

  struct Parts {
    std::map<Day, DayUsage> closed{};  ///< kMaxDays at most
    std::optional<Day> day{};          ///< of `open`; newer than all of `closed`
    DaySamples open{};
    std::map<int, QuantileSketch> sketches{};  ///< of the closed days, by day / kSketchDays; kMaxSketches at most
    Oddities oddities{};
    base::TimePoint first{};  ///< sample
    base::TimePoint last{};
    std::uint64_t samples = 0;  ///< in all, forgotten ones included
  };

  RollingHistory() = default;
  /// REQUIRES: `parts` are as a RollingHistory has them.
  explicit RollingHistory(Parts parts) : parts_(std::move(parts)) {}

  /// Of any of the workload's pods. Figures that cannot be true count as oddities, and so does a sample of a day that
  /// is closed already.
  void add(base::TimePoint time, double cpu, double memory, bool is_startup);
  /// Adds what a predecessor kept of the same container: no sample is in both.
  void merge(const RollingHistory& earlier);

  /// As advice is computed from, today included.
  ContainerHistory history() const;
  const Parts& parts() const { return parts_; }
  bool empty() const { return parts_.samples == 0; }

 private:
  void begin(Day day);
  void close();
  void forget();

  Parts parts_;
};

}  // namespace advising
