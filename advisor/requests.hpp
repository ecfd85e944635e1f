#pragma once

/// From a container's past to requests and limits. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advisor/conflicts.hpp"
#include "advisor/history.hpp"
#include "advisor/workloads.hpp"

namespace advising {

/// Named rules for CPU. Memory is the same in all of them: the observed maximum plus kMemoryMargin, as request and
/// limit.
enum class Profile {
  kCore,      ///< request = limit = mean of the daily peaks
  kStandard,  ///< limit = mean of the daily peaks; request = (0.9 − 0.3 b) of it, b = (p95 − mean) / p95 within 0 … 1
  kPercentile,  ///< request = a percentile of all samples; limit = mean of the daily peaks, at least the request
};
std::string_view to_string(Profile profile);
std::optional<Profile> parse_profile(std::string_view text);

inline constexpr double kMemoryMargin = 0.15;
/// Fewer days: no advice.
inline constexpr int kMinDays = 3;
/// A day with less of it covered is no day: a rush hour may be missing.
inline constexpr base::Duration kMinCovered = std::chrono::hours(12);
/// More of the CFS periods throttled than that: what was used is not what was wanted.
inline constexpr double kMaxThrottled = 0.05;
/// More of the samples odd than that: none of them is trusted.
inline constexpr double kMaxOdd = 0.1;
/// Nothing smaller is recommended: runtimes cannot start a container with less memory.
inline constexpr double kMinCores = 0.005;
inline constexpr double kMinBytes = 8.0 * 1024 * 1024;

struct Rules {
  Profile profile = Profile::kStandard;
  double percentile = 95;  ///< of kPercentile
  Day from = 0;            ///< the days that were asked for: [from, to)
  Day to = 0;
};

enum class Level { kNone, kLow, kMedium, kHigh };
std::string_view to_string(Level level);

/// What is said about one container.
struct Advice {
  ContainerKey key;
  int replicas = 0;
  bool can_be_patched = false;
  bool is_sidecar = false;
  Resources current;
  Resources recommended;  ///< all absent when there is no advice
  std::string why_not;    ///< no advice; "": there is
  int days = 0;           ///< that count
  int missing_days = 0;   ///< of those asked for, between the first and the last that counts
  std::uint64_t samples = 0;
  Level confidence = Level::kNone;
  Level risk = Level::kNone;         ///< of following the advice
  std::vector<std::string> reasons;  ///< for the risk and the confidence, for people
  std::vector<Conflict> conflicts;
  double burstiness = kUnknown;    ///< b
  double cpu_used = kUnknown;      ///< mean of all days, one pod
  double memory_used = kUnknown;   ///< mean, one pod
  double memory_peak = kUnknown;   ///< of all days
  double startup_peak = kUnknown;  ///< cores
  double throttled = kUnknown;     ///< highest share of a day
  std::uint32_t oom_kills = 0;
  std::optional<double> percentile_low;  ///< kPercentile: where the true one is, 19 times in 20
  std::optional<double> percentile_high;

  bool has_advice() const { return why_not.empty(); }
  bool conflicts_in(std::string_view resource) const;
};

/// One line for each container of the inventory, and for each past one that is not there any more; sorted by key.
/// `histories` holds days outside [from, to) without harm.
std::vector<Advice> advise_requests(const Inventory& inventory, const Histories& histories, const Rules& rules);

/// One container's, without what the cluster around it says. For tests and comparisons.
Advice advise_container(const ContainerSpec& spec, const ContainerHistory& history, const Rules& rules);

}  // namespace advising
