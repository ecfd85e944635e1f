#pragma once

/// Daily usage of containers, the input of advice. Pure; takes no clock.

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "advisor/sketch.hpp"
#include "advisor/workloads.hpp"
#include "base/clock.hpp"

namespace advisor {

/// Marks an unknown figure. Never 0.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Upper bounds of plausible samples. Larger values are measurement errors.
inline constexpr double kMaxCores = 4096;
inline constexpr double kMaxBytes = 256.0 * (std::uint64_t{1} << 40);

/// Smallest CPU usage in a sketch, in cores. Smaller values count as 0.
inline constexpr double kMinSketchCores = 1e-4;

/// Days since 1970-01-01, UTC.
using Day = std::int32_t;
Day day_of(base::TimePoint time);
base::TimePoint start_of(Day day);
/// "2026-11-21". parse_day() returns nullopt if the text is not a date.
std::string text_of(Day day);
std::optional<Day> parse_day(std::string_view text);

/// Usage of one container on one day, over all pods of its workload. CPU in cores and memory in bytes, per pod;
/// kUnknown if not reported. CPU figures exclude start-up unless noted.
struct DayUsage {
  std::uint64_t samples = 0;
  base::Duration covered{};            ///< part of the day that the samples cover, at most 24 h
  double cpu_peak = kUnknown;          ///< of the pod with the highest peak
  double cpu_mean = kUnknown;          ///< mean over all pods and samples
  double cpu_p95 = kUnknown;           ///< over all samples; from Prometheus: mean over pods of their p95
  double cpu_startup_peak = kUnknown;  ///< peak within the start-up time
  double memory_peak = kUnknown;       ///< including start-up, because insufficient memory then causes OOM kills
  double memory_mean = kUnknown;
  double throttled = kUnknown;  ///< share of throttled CFS periods, of the pod with the highest share
  std::uint32_t oom_kills = 0;
};

/// Number of discarded samples by reason.
struct DiscardedSamples {
  std::uint64_t negative = 0;
  std::uint64_t not_finite = 0;
  std::uint64_t absurd = 0;      ///< above kMaxCores or kMaxBytes
  std::uint64_t duplicates = 0;  ///< not newer than the previous sample of the container
  std::uint64_t total() const { return negative + not_finite + absurd + duplicates; }
  DiscardedSamples& operator+=(const DiscardedSamples& other);
};

/// Returns `value`, or kUnknown if it is implausible, which is counted in `oddities`. `most` is kMaxCores or kMaxBytes.
double checked(double value, double most, DiscardedSamples& oddities);

/// Cores and bytes of one sample after checked(). A sample with two implausible values is counted once, by the reason
/// of its CPU value.
struct Figures {
  double cpu = kUnknown;
  double memory = kUnknown;
  bool is_known() const { return !std::isnan(cpu) || !std::isnan(memory); }  ///< true if at least one is known
};
Figures checked_figures(double cpu, double memory, DiscardedSamples& oddities);

/// Number, sum and maximum of figures. Ignores kUnknown.
struct Tally {
  std::uint64_t count = 0;
  double sum = 0;
  double peak = kUnknown;
  void add(double value);
  void merge(const Tally& other);
  double mean() const { return count > 0 ? sum / static_cast<double>(count) : kUnknown; }
};

/// Accumulates the samples of one container on one day.
struct DaySamples {
  std::uint32_t hours = 0;  ///< one bit per hour with samples
  std::uint64_t samples = 0;
  Tally cpu_use;
  Tally memory_use;
  double startup_peak = kUnknown;
  QuantileSketch cpu{kMinSketchCores};

  /// Adds a sample after checked(), with at least one known figure.
  void add(base::Duration since_midnight, double cpu_used, double memory_used, bool is_startup);
  /// Merges samples of the same day from another source. No sample may be in both.
  void merge(const DaySamples& other);
  DayUsage usage() const;
};

struct ContainerHistory {
  std::map<Day, DayUsage> days;
  std::optional<QuantileSketch> cpu;  ///< all samples outside start-up, nullopt if the source has only daily figures
  DiscardedSamples oddities;
};

struct ContainerKey {
  WorkloadKey workload;
  std::string container;
  friend auto operator<=>(const ContainerKey&, const ContainerKey&) = default;
};

/// Histories of all containers, and series without a workload.
struct Histories {
  std::map<ContainerKey, ContainerHistory> containers;
  std::uint64_t unknown_pods = 0;     ///< number of series of pods that belong to no workload of the cluster
  std::uint64_t ambiguous_pods = 0;   ///< number of series of pods whose names match several workloads
  std::vector<std::string> examples;  ///< some pods of both kinds, human-readable
};

/// Merges the histories of another source. For a day in both, the one that covers more of the day wins.
void add_histories(Histories& all, Histories other);

/// Adds a day with figures from another source. If one figure is implausible, the whole day is discarded and its
/// samples are counted as oddities. If the day already exists, the one that covers more of the day wins.
void add_reported_day(Histories& all, const ContainerKey& key, Day day, const DayUsage& usage);

/// One measurement of one container.
struct Sample {
  base::TimePoint time{};
  std::string_view ns;
  std::string_view pod;
  std::string_view container;
  double cpu = kUnknown;     ///< cores
  double memory = kUnknown;  ///< bytes
};

/// Aggregates single samples to days. Keeps a sketch for each container and day instead of the samples. Not
/// thread-safe; `owners` must outlive it.
class SampleAggregator {
 public:
  struct Window {
    base::TimePoint from{};
    base::TimePoint to{};
    base::Duration startup{};  ///< length of a pod's start-up time
  };
  SampleAggregator(const Owners& owners, Window window) : owners_(owners), window_(window) {}

  /// Adds a sample. Samples of one container must be in chronological order; others count as duplicates. The start of a
  /// pod is taken from the cluster if known. Otherwise the pod started with its first sample, unless that sample is
  /// among the very first of all, in which case its start-up is considered over.
  void add(const Sample& sample);
  Histories finish() &&;

 private:
  struct Container {
    std::map<Day, DaySamples> days;
    DiscardedSamples oddities;
  };
  /// State of one container of one pod.
  struct Series {
    Container* container = nullptr;  ///< nullptr if the pod has no known workload
    base::TimePoint start{};
    base::TimePoint last{};
  };

  Series& series_of(const Sample& sample);
  Series new_series(const Sample& sample);

  const Owners& owners_;
  Window window_;
  std::optional<base::TimePoint> first_;
  std::unordered_map<std::string, Series> series_;
  std::map<ContainerKey, Container> containers_;
  Histories result_;
  std::string key_;
};

/// Adds CPU samples that were reported as bucket indices (QuantileSketch::index_of()) to the sketches of `histories`.
/// Not thread-safe; `owners` and `histories` must outlive it.
class BucketFold {
 public:
  BucketFold(const Owners& owners, Histories& histories) : owners_(owners), histories_(histories) {}
  /// Adds the samples of one container. Buckets are of cores.
  void add(std::string_view ns, std::string_view pod, std::string_view container,
           std::span<const std::int32_t> buckets);

 private:
  ContainerHistory* history_of(std::string_view ns, std::string_view pod, std::string_view container);

  const Owners& owners_;
  Histories& histories_;
  std::unordered_map<std::string, ContainerHistory*> known_;  ///< nullptr if the pod has no known workload
  std::string key_;
  std::vector<std::uint32_t> counts_;  ///< reused by add()
};

/// Daily figure of a container of a pod, computed by a metrics server.
enum class DayMetric {
  kSamples,
  kCpuPeak,
  kCpuMean,
  kCpuP95,
  kStartupPeak,
  kMemoryPeak,
  kMemoryMean,
  kThrottled,
  kOomKills
};

/// Aggregates the per-pod rows of one day to DayUsage by container of a workload. Rows of kSamples must come first,
/// because they are the weights of the others. Not thread-safe.
class DayFold {
 public:
  /// `step` is the time between samples.
  DayFold(const Owners& owners, base::Duration step) : owners_(owners), step_(step) {}
  void add(DayMetric metric, std::string_view ns, std::string_view pod, std::string_view container, double value);
  /// Returns the usage of the day by container, adds problems to `told`, and resets this object for the next day.
  std::map<ContainerKey, DayUsage> finish(Histories& told);

 private:
  struct Sums {
    DayUsage usage;
    DiscardedSamples oddities;
    double replicas = 1;
    double longest = 0;  ///< number of samples of the pod with the most samples
    double mean_sum = 0, mean_weight = 0;
    double p95_sum = 0, p95_weight = 0;
    double memory_sum = 0, memory_weight = 0;
  };
  /// State of one container of one pod.
  struct Series {
    Sums* sums = nullptr;
    double samples = 0;
  };
  Series& series_of(std::string_view ns, std::string_view pod, std::string_view container);
  static void put(DayMetric metric, double value, Series& series);

  const Owners& owners_;
  const base::Duration step_;
  std::unordered_map<std::string, Series> series_;
  std::map<ContainerKey, Sums> sums_;
  Histories told_;
  std::string key_;
};

}  // namespace advisor
