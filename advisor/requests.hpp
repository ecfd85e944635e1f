#pragma once

/// Derives requests and limits from the usage history of a container. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advisor/conflicts.hpp"
#include "advisor/history.hpp"
#include "advisor/workloads.hpp"

namespace advisor {

/// Rules for CPU. Memory is equal in all profiles: request and limit are the observed maximum plus kMemoryMargin.
enum class Profile {
  kCore,  ///< request = limit = mean of the daily peaks
  kStandard,  ///< limit = mean of the daily peaks; request = (0.9 − 0.3 b) × limit, b = (p95 − mean) / p95 within 0 … 1
  kPercentile,  ///< request = a percentile of all samples; limit = mean of the daily peaks, at least the request
};
std::string_view to_string(Profile profile);
std::optional<Profile> parse_profile(std::string_view text);

inline constexpr double kMemoryMargin = 0.15;
/// Minimum number of days for advice.
inline constexpr int kMinDays = 3;
/// Days with less coverage are ignored, because a busy hour may be missing.
inline constexpr base::Duration kMinCovered = std::chrono::hours(12);
/// Maximum share of throttled CFS periods. Above it, usage is below demand.
inline constexpr double kMaxThrottled = 0.05;
/// Maximum share of implausible samples. Above it, the container gets no advice.
inline constexpr double kMaxOdd = 0.1;
/// Minimum recommendations: runtimes cannot start a container with less memory.
inline constexpr double kMinCores = 0.005;
inline constexpr double kMinBytes = 8.0 * 1024 * 1024;

struct Rules {
  Profile profile = Profile::kStandard;
  double percentile = 95;  ///< for kPercentile
  Day from = 0;            ///< requested days: [from, to)
  Day to = 0;
};

enum class Level { kNone, kLow, kMedium, kHigh };
std::string_view to_string(Level level);

struct Advice {
  ContainerKey key;
  int replicas = 0;
  bool can_be_patched = false;
  bool is_sidecar = false;
  Resources current;
  Resources recommended;         ///< all absent if there is no advice
  std::string no_advice_reason;  ///< why there is no advice, empty if there is
  int days = 0;                  ///< number of usable days
  int missing_days = 0;          ///< requested days that are missing between the first and the last usable day
  std::uint64_t samples = 0;
  Level confidence = Level::kNone;
  Level risk = Level::kNone;         ///< of following the advice
  std::vector<std::string> reasons;  ///< reasons for risk and confidence, human-readable
  std::vector<Conflict> conflicts;
  double burstiness = kUnknown;    ///< b in Profile::kStandard
  double cpu_used = kUnknown;      ///< mean of all days, per pod
  double memory_used = kUnknown;   ///< mean, per pod
  double memory_peak = kUnknown;   ///< maximum of all days
  double startup_peak = kUnknown;  ///< cores
  double throttled = kUnknown;     ///< highest daily share
  std::uint32_t oom_kills = 0;
  std::optional<double> percentile_low;  ///< kPercentile: bounds of the 95 % confidence interval
  std::optional<double> percentile_high;

  bool has_advice() const { return no_advice_reason.empty(); }
  bool conflicts_in(std::string_view resource) const;
};

/// Returns one entry for each container of the inventory and each container that exists in the history only, sorted by
/// key. Days in `histories` outside [from, to) are ignored.
std::vector<Advice> advise_requests(const Inventory& inventory, const Histories& histories, const Rules& rules);

/// Returns the advice for one container without conflicts from autoscalers. For tests and comparisons.
Advice advise_container(const ContainerSpec& spec, const ContainerHistory& history, const Rules& rules);

}  // namespace advisor
