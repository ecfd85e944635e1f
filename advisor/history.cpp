#include "advisor/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace advisor {
namespace {

constexpr std::size_t kMaxExamples = 5;
constexpr double kMaxPerDay = 86'400;  ///< maximum of samples, or of OOM kills

void raise(double& peak, double value) {
  if (!std::isnan(value) && !(peak >= value)) peak = value;
}

void make_key(std::string& key, std::string_view ns, std::string_view pod, std::string_view container) {
  key.assign(ns).append(1, '/').append(pod).append(1, '/').append(container);
}

/// Returns the owner. A pod without a workload is counted in `told`.
Owner owner_of(const Owners& owners, std::string_view ns, std::string_view pod, Histories& told) {
  const Owner owner = owners.of(ns, pod);
  if (owner.workload != nullptr) return owner;
  ++(owner.is_ambiguous ? told.ambiguous_pods : told.unknown_pods);
  if (told.examples.size() < kMaxExamples) told.examples.push_back(fmt::format("{}/{}", ns, pod));
  return owner;
}

/// Mean and percentile cannot exceed the peak, except for rounding.
bool is_within(double value, double peak) { return std::isnan(value) || std::isnan(peak) || value <= peak * 1.01; }

/// Counts each implausible figure of the day.
DiscardedSamples oddities_of(const DayUsage& usage) {
  DiscardedSamples found;
  for (const double cores : {usage.cpu_peak, usage.cpu_mean, usage.cpu_p95, usage.cpu_startup_peak})
    checked(cores, kMaxCores, found);
  for (const double bytes : {usage.memory_peak, usage.memory_mean}) checked(bytes, kMaxBytes, found);
  checked(usage.throttled, 1, found);
  const bool is_consistent = is_within(usage.cpu_mean, usage.cpu_peak) && is_within(usage.cpu_p95, usage.cpu_peak) &&
                             is_within(usage.memory_mean, usage.memory_peak);
  if (!is_consistent) ++found.absurd;
  return found;
}

void put_day(std::map<Day, DayUsage>& days, Day day, const DayUsage& usage) {
  const auto [at, is_new] = days.emplace(day, usage);
  if (!is_new && usage.covered > at->second.covered) at->second = usage;
}

}  // namespace

Day day_of(base::TimePoint time) {
  return static_cast<Day>(std::chrono::floor<std::chrono::days>(time).time_since_epoch().count());
}
base::TimePoint start_of(Day day) { return std::chrono::sys_days(std::chrono::days(day)); }
std::string text_of(Day day) { return base::format_time(start_of(day)).substr(0, 10); }
std::optional<Day> parse_day(std::string_view text) {
  if (text.size() != 10) return std::nullopt;
  const auto time = base::parse_time(std::string(text).append("T").append("00:00:00Z"));
  return time ? std::optional(day_of(*time)) : std::nullopt;
}

DiscardedSamples& DiscardedSamples::operator+=(const DiscardedSamples& other) {
  negative += other.negative;
  not_finite += other.not_finite;
  absurd += other.absurd;
  duplicates += other.duplicates;
  return *this;
}

double checked(double value, double most, DiscardedSamples& oddities) {
  if (std::isnan(value)) return kUnknown;
  if (std::isinf(value)) return ++oddities.not_finite, kUnknown;
  if (value < 0) return ++oddities.negative, kUnknown;
  if (value > most) return ++oddities.absurd, kUnknown;
  return value;
}

Figures checked_figures(double cpu, double memory, DiscardedSamples& oddities) {
  DiscardedSamples of_cpu;
  DiscardedSamples of_memory;
  const Figures figures{checked(cpu, kMaxCores, of_cpu), checked(memory, kMaxBytes, of_memory)};
  oddities += of_cpu.total() > 0 ? of_cpu : of_memory;
  return figures;
}

void add_reported_day(Histories& all, const ContainerKey& key, Day day, const DayUsage& usage) {
  ContainerHistory& history = all.containers[key];
  const DiscardedSamples found = oddities_of(usage);
  if (found.total() == 0) return put_day(history.days, day, usage);
  const std::uint64_t samples = std::max<std::uint64_t>(usage.samples, 1);
  std::uint64_t& reason = found.negative > 0     ? history.oddities.negative
                          : found.not_finite > 0 ? history.oddities.not_finite
                                                 : history.oddities.absurd;
  reason += samples;
}

void add_histories(Histories& all, Histories other) {
  for (auto& [key, history] : other.containers) {
    ContainerHistory& into = all.containers[key];
    for (const auto& [day, usage] : history.days) put_day(into.days, day, usage);
    if (into.cpu && history.cpu) into.cpu->merge(*history.cpu);
    if (!into.cpu) into.cpu = std::move(history.cpu);
    into.oddities += history.oddities;
  }
  all.unknown_pods += other.unknown_pods;
  all.ambiguous_pods += other.ambiguous_pods;
  for (std::string& example : other.examples) {
    if (all.examples.size() < kMaxExamples) all.examples.push_back(std::move(example));
  }
}

// --- Samples

void Tally::add(double value) {
  if (!std::isnan(value)) merge({1, value, value});
}

void Tally::merge(const Tally& other) {
  count += other.count;
  sum += other.sum;
  raise(peak, other.peak);
}

void DaySamples::add(base::Duration since_midnight, double cpu_used, double memory_used, bool is_startup) {
  ++samples;
  hours |= 1U << std::chrono::floor<std::chrono::hours>(since_midnight).count();
  memory_use.add(memory_used);
  if (std::isnan(cpu_used)) return;
  if (is_startup) return raise(startup_peak, cpu_used);
  cpu_use.add(cpu_used);
  cpu.add(cpu_used);
}

void DaySamples::merge(const DaySamples& other) {
  hours |= other.hours;
  samples += other.samples;
  cpu_use.merge(other.cpu_use);
  memory_use.merge(other.memory_use);
  raise(startup_peak, other.startup_peak);
  cpu.merge(other.cpu);
}

DayUsage DaySamples::usage() const {
  DayUsage told;
  told.samples = samples;
  told.covered = std::chrono::hours(std::popcount(hours));
  told.cpu_peak = cpu_use.peak;
  told.cpu_mean = cpu_use.mean();
  told.cpu_startup_peak = startup_peak;
  told.memory_peak = memory_use.peak;
  told.memory_mean = memory_use.mean();
  if (cpu_use.count > 0) told.cpu_p95 = std::min(cpu.quantile(0.95), cpu_use.peak);
  return told;
}

SampleAggregator::Series SampleAggregator::new_series(const Sample& sample) {
  Series series;
  const Owner owner = owner_of(owners_, sample.ns, sample.pod, result_);
  if (owner.workload != nullptr) series.container = &containers_[{*owner.workload, std::string(sample.container)}];
  const auto told = owners_.started(sample.ns, sample.pod);
  const bool was_there_before = !told && sample.time <= *first_;
  series.start = told ? *told : (was_there_before ? sample.time - window_.startup : sample.time);
  return series;
}

SampleAggregator::Series& SampleAggregator::series_of(const Sample& sample) {
  make_key(key_, sample.ns, sample.pod, sample.container);
  const auto at = series_.find(key_);
  return at == series_.end() ? series_.emplace(key_, new_series(sample)).first->second : at->second;
}

void SampleAggregator::add(const Sample& sample) {
  if (!first_) first_ = sample.time;
  Series& series = series_of(sample);
  if (series.container == nullptr || sample.time < window_.from || sample.time >= window_.to) return;
  DiscardedSamples& oddities = series.container->oddities;
  if (sample.time <= series.last) {
    ++oddities.duplicates;
    return;
  }
  series.last = sample.time;
  const Figures figures = checked_figures(sample.cpu, sample.memory, oddities);
  if (!figures.is_known()) return;
  const base::Duration age = sample.time - series.start;
  const bool is_startup = age >= base::Duration(0) && age < window_.startup;
  const Day day = day_of(sample.time);
  series.container->days[day].add(sample.time - start_of(day), figures.cpu, figures.memory, is_startup);
}

Histories SampleAggregator::finish() && {
  for (auto& [key, container] : containers_) {
    ContainerHistory& history = result_.containers[key];
    history.oddities = container.oddities;
    history.cpu.emplace(kMinSketchCores);
    for (const auto& [day, samples] : container.days) {
      history.days.emplace(day, samples.usage());
      history.cpu->merge(samples.cpu);
    }
  }
  return std::move(result_);
}

// --- Buckets

/// Does not count pods without a workload: the daily figures already do.
ContainerHistory* BucketFold::history_of(std::string_view ns, std::string_view pod, std::string_view container) {
  make_key(key_, ns, pod, container);
  if (const auto at = known_.find(key_); at != known_.end()) return at->second;
  const Owner owner = owners_.of(ns, pod);
  ContainerHistory* history = nullptr;
  if (owner.workload != nullptr) {
    history = &histories_.containers[{*owner.workload, std::string(container)}];
    if (!history->cpu) history->cpu.emplace(kMinSketchCores);
  }
  return known_.emplace(key_, history).first->second;
}

void BucketFold::add(std::string_view ns, std::string_view pod, std::string_view container,
                     std::span<const std::int32_t> buckets) {
  static const std::int32_t nothing = QuantileSketch::index_of(kMinSketchCores) - 1;
  static const std::int32_t absurd = QuantileSketch::index_of(kMaxCores) + 1;
  ContainerHistory* const history = history_of(ns, pod, container);
  if (history == nullptr || buckets.empty()) return;
  const auto bounded = [](std::int32_t bucket) { return std::clamp(bucket, nothing, absurd); };
  const auto [low, high] = std::ranges::minmax(buckets);
  const std::int32_t first = bounded(low);
  counts_.assign(static_cast<std::size_t>(bounded(high) - first) + 1, 0);
  for (const std::int32_t bucket : buckets) ++counts_[static_cast<std::size_t>(bounded(bucket) - first)];
  if (bounded(high) == absurd) history->oddities.absurd += std::exchange(counts_.back(), 0);
  for (std::size_t i = 0; i < counts_.size(); ++i)
    history->cpu->add_bucket(first + static_cast<std::int32_t>(i), counts_[i]);
}

// --- Days by pod

DayFold::Series& DayFold::series_of(std::string_view ns, std::string_view pod, std::string_view container) {
  make_key(key_, ns, pod, container);
  const auto at = series_.find(key_);
  if (at != series_.end()) return at->second;
  Series series;
  const Owner owner = owner_of(owners_, ns, pod, told_);
  if (owner.workload != nullptr) {
    series.sums = &sums_[{*owner.workload, std::string(container)}];
    series.sums->replicas = std::max(owner.replicas, 1);
  }
  return series_.emplace(key_, series).first->second;
}

void DayFold::put(DayMetric metric, double value, Series& series) {
  Sums& sums = *series.sums;
  const double weight = series.samples;
  switch (metric) {
    case DayMetric::kSamples:
      series.samples = value;
      sums.usage.samples += static_cast<std::uint64_t>(value);
      sums.longest = std::max(sums.longest, value);
      return;
    case DayMetric::kCpuPeak: return raise(sums.usage.cpu_peak, value);
    case DayMetric::kCpuMean: sums.mean_sum += value * weight, sums.mean_weight += weight; return;
    case DayMetric::kCpuP95: sums.p95_sum += value * weight, sums.p95_weight += weight; return;
    case DayMetric::kStartupPeak: return raise(sums.usage.cpu_startup_peak, value);
    case DayMetric::kMemoryPeak: return raise(sums.usage.memory_peak, value);
    case DayMetric::kMemoryMean: sums.memory_sum += value * weight, sums.memory_weight += weight; return;
    case DayMetric::kThrottled: return raise(sums.usage.throttled, std::min(value, 1.0));
    case DayMetric::kOomKills: sums.usage.oom_kills += static_cast<std::uint32_t>(std::ceil(value)); return;
  }
}

void DayFold::add(DayMetric metric, std::string_view ns, std::string_view pod, std::string_view container,
                  double value) {
  const bool is_memory = metric == DayMetric::kMemoryPeak || metric == DayMetric::kMemoryMean;
  const bool is_count = metric == DayMetric::kSamples || metric == DayMetric::kOomKills;
  Series& series = series_of(ns, pod, container);
  if (series.sums == nullptr) return;
  const double most = is_memory ? kMaxBytes : (is_count ? kMaxPerDay : kMaxCores);
  const double sound = checked(value, most, series.sums->oddities);
  if (!std::isnan(sound)) put(metric, sound, series);
}

std::map<ContainerKey, DayUsage> DayFold::finish(Histories& told) {
  std::map<ContainerKey, DayUsage> days;
  for (auto& [key, sums] : sums_) {
    DayUsage usage = sums.usage;
    // Minutes of a hundred pods are not a day, but pods that follow one another during the day are.
    const double points = std::max(sums.longest, static_cast<double>(usage.samples) / sums.replicas);
    const auto covered = base::Duration(static_cast<base::Duration::rep>(points * static_cast<double>(step_.count())));
    usage.covered = std::min<base::Duration>(covered, std::chrono::hours(24));
    if (sums.oddities.total() > 0) told.containers[key].oddities += sums.oddities;
    if (sums.mean_weight > 0) usage.cpu_mean = sums.mean_sum / sums.mean_weight;
    if (sums.p95_weight > 0) usage.cpu_p95 = sums.p95_sum / sums.p95_weight;
    if (sums.memory_weight > 0) usage.memory_mean = sums.memory_sum / sums.memory_weight;
    days.emplace(key, usage);
  }
  add_histories(told, std::exchange(told_, {}));
  series_.clear();
  sums_.clear();
  return days;
}

}  // namespace advisor
