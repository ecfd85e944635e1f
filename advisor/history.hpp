#pragma once

/// What containers used, day by day: the past as advice needs it. Pure; no clock.

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

namespace advising {

/// No figure. Never 0.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// No container uses more: such a sample is a fault of whoever measured.
inline constexpr double kMaxCores = 4096;
inline constexpr double kMaxBytes = 256.0 * (std::uint64_t{1} << 40);

/// Less counts as nothing.
inline constexpr double kMinSketchCores = 1e-4;

/// Days since 1970-01-01, UTC.
using Day = std::int32_t;
Day day_of(base::TimePoint time);
base::TimePoint start_of(Day day);
/// "2026-11-21"; nullopt: no such day.
std::string text_of(Day day);
std::optional<Day> parse_day(std::string_view text);

/// What one container of all of a workload's pods used on one day. CPU in cores and memory in bytes, of one pod;
/// kUnknown where nothing was told. CPU figures are without start-ups.
struct DayUsage {
  std::uint64_t samples = 0;
  base::Duration covered{};            ///< how much of the day the samples stand for, 24 h at most
  double cpu_peak = kUnknown;          ///< of the pod that used most
  double cpu_mean = kUnknown;          ///< over all pods and samples
  double cpu_p95 = kUnknown;           ///< over all samples; from Prometheus the mean of the pods'
  double cpu_startup_peak = kUnknown;  ///< within the start-up time
  double memory_peak = kUnknown;       ///< start-ups included: memory that is missing then kills
  double memory_mean = kUnknown;
  double throttled = kUnknown;  ///< share of CFS periods, of the pod that had most
  std::uint32_t oom_kills = 0;
};

/// Samples that count for nothing, and why.
struct Oddities {
  std::uint64_t negative = 0;
  std::uint64_t not_finite = 0;
  std::uint64_t absurd = 0;      ///< above kMaxCores or kMaxBytes
  std::uint64_t duplicates = 0;  ///< not newer than the one before it of the same container
  std::uint64_t total() const { return negative + not_finite + absurd + duplicates; }
  Oddities& operator+=(const Oddities& other);
};

/// The value itself, or kUnknown, which is counted, when it cannot be true: `most` is kMaxCores or kMaxBytes.
double checked(double value, double most, Oddities& oddities);

/// Cores and bytes of one sample as checked() lets them through. A sample of which both are odd is counted once, by the
/// reason of its CPU.
struct Figures {
  double cpu = kUnknown;
  double memory = kUnknown;
  bool is_known() const;  ///< one of them at least
};
Figures checked_figures(double cpu, double memory, Oddities& oddities);

/// The samples of one day of one container, as they come.
struct DaySamples {
  std::uint32_t hours = 0;  ///< bit by hour
  std::uint64_t samples = 0;
  std::uint64_t cpu_count = 0;
  double cpu_sum = 0;
  double cpu_peak = kUnknown;
  double startup_peak = kUnknown;
  std::uint64_t memory_count = 0;
  double memory_sum = 0;
  double memory_peak = kUnknown;
  QuantileSketch cpu{kMinSketchCores};

  /// Figures as checked() lets them through, at least one of them known.
  void add(base::Duration since_midnight, double cpu_used, double memory_used, bool is_startup);
  /// The same day as another has seen it: no sample is in both.
  void merge(const DaySamples& other);
  DayUsage usage() const;
};

struct ContainerHistory {
  std::map<Day, DayUsage> days;
  std::optional<QuantileSketch> cpu;  ///< all samples outside start-ups; absent: only days were told
  Oddities oddities;
};

struct ContainerKey {
  WorkloadKey workload;
  std::string container;
  friend auto operator<=>(const ContainerKey&, const ContainerKey&) = default;
};

/// The past of every container, and what of it is nobody's.
struct Histories {
  std::map<ContainerKey, ContainerHistory> containers;
  std::uint64_t unknown_pods = 0;     ///< series of pods that belong to no workload of the cluster
  std::uint64_t ambiguous_pods = 0;   ///< whose names fit several workloads
  std::vector<std::string> examples;  ///< some of both, for people
};

/// Adds what another source told. A day that both told: the one that covers more of it counts.
void add_histories(Histories& all, Histories other);

/// Adds a day as somebody else tells it. Where one of its figures cannot be true none counts, and all of its samples
/// are odd. Of a day that is told twice the one that covers more of it counts.
void add_told_day(Histories& all, const ContainerKey& key, Day day, const DayUsage& usage);

/// One measurement of one container.
struct Sample {
  base::TimePoint time{};
  std::string_view ns;
  std::string_view pod;
  std::string_view container;
  double cpu = kUnknown;     ///< cores
  double memory = kUnknown;  ///< bytes
};

/// From single samples to days. Keeps a sketch for each container and day, not the samples. Not thread-safe; `owners`
/// outlives it.
class SampleFold {
 public:
  struct Window {
    base::TimePoint from{};
    base::TimePoint to{};
    base::Duration startup{};  ///< a pod's first samples for so long are its start-up
  };
  SampleFold(const Owners& owners, Window window) : owners_(owners), window_(window) {}

  /// Samples of one container come in the order of time; others count as duplicates. A pod that was not there in the
  /// first samples of all started when it was first seen, unless the cluster tells when.
  void add(const Sample& sample);
  Histories finish() &&;

 private:
  struct Container {
    std::map<Day, DaySamples> days;
    Oddities oddities;
  };
  /// One container of one pod.
  struct Series {
    Container* container = nullptr;  ///< nullptr: nobody's
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

/// From samples that were told as buckets of sketches (QuantileSketch::index_of()) to the sketches. Not thread-safe;
/// `owners` and `histories` outlive it.
class BucketFold {
 public:
  BucketFold(const Owners& owners, Histories& histories) : owners_(owners), histories_(histories) {}
  /// Of one container, in cores.
  void add(std::string_view ns, std::string_view pod, std::string_view container,
           std::span<const std::int32_t> buckets);

 private:
  ContainerHistory* history_of(std::string_view ns, std::string_view pod, std::string_view container);

  const Owners& owners_;
  Histories& histories_;
  std::unordered_map<std::string, ContainerHistory*> known_;  ///< nullptr: nobody's
  std::string key_;
  std::vector<std::uint32_t> counts_;  ///< of one call
};

/// What a metrics server computes for one day and each container of each pod.
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

/// From one day's rows by pod to DayUsage by workload. kSamples comes first: other rows weigh by it. Not thread-safe.
class DayFold {
 public:
  /// A sample stands for `step`.
  DayFold(const Owners& owners, base::Duration step) : owners_(owners), step_(step) {}
  void add(DayMetric metric, std::string_view ns, std::string_view pod, std::string_view container, double value);
  /// The day's usage by container; what is wrong with it goes to `told`. Begins again with nothing.
  std::map<ContainerKey, DayUsage> finish(Histories& told);

 private:
  struct Sums {
    DayUsage usage;
    Oddities oddities;
    double replicas = 1;
    double longest = 0;  ///< samples of the pod that has most
    double mean_sum = 0, mean_weight = 0;
    double p95_sum = 0, p95_weight = 0;
    double memory_sum = 0, memory_weight = 0;
  };
  /// One container of one pod.
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

}  // namespace advising
