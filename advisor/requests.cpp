#include "advisor/requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace advisor {
namespace {

constexpr double kMiB = 1024.0 * 1024;
/// Share of the memory limit that a heap may use. The JVM also needs memory for metaspace, threads and buffers.
constexpr double kHeapShare = 0.8;
constexpr double kHighBurstiness = 0.7;
/// Memory whose daily peak grows every day and by this factor in total has probably not reached its maximum.
constexpr double kLeakGrowth = 1.2;
/// Minimum number of samples above a percentile for a reliable estimate.
constexpr double kMinBeyond = 10;
constexpr double kTwoSigma = 1.96;

constexpr std::array<std::string_view, 3> kProfiles = {"Core", "Standard", "Percentile"};
constexpr std::array<std::string_view, 4> kLevels = {"", "Low", "Medium", "High"};

/// Usable days within the requested period.
struct Window {
  std::vector<const DayUsage*> days;  ///< in order
  std::vector<Day> dates;
  std::uint64_t samples = 0;
  base::Duration covered{};
};

Window window_of(const ContainerHistory& history, const Rules& rules) {
  Window window;
  for (auto at = history.days.lower_bound(rules.from); at != history.days.end() && at->first < rules.to; ++at) {
    const DayUsage& day = at->second;
    window.samples += day.samples;
    window.covered += day.covered;
    if (day.covered < kMinCovered) continue;
    window.days.push_back(&day);
    window.dates.push_back(at->first);
  }
  return window;
}

Tally tally_of(const Window& window, double DayUsage::*member) {
  Tally tally;
  for (const DayUsage* day : window.days) tally.add(day->*member);
  return tally;
}

double burstiness(double p95, double mean) {
  if (!(p95 > 0) || std::isnan(mean)) return kUnknown;
  return std::clamp((p95 - mean) / p95, 0.0, 1.0);
}

/// Round up to thousandths of a core and to MiB.
double whole_cores(double cores) { return std::max(kMinCores, std::ceil(cores * 1000 - 1e-6) / 1000); }
double whole_bytes(double bytes) { return std::max(kMinBytes, std::ceil(bytes / kMiB - 1e-9) * kMiB); }

/// Returns true if each daily memory peak exceeds the previous one, and the last exceeds the first by kLeakGrowth.
bool grows(const Window& window) {
  double last = 0;
  double first = kUnknown;
  for (const DayUsage* day : window.days) {
    if (std::isnan(day->memory_peak)) continue;
    if (day->memory_peak <= last) return false;
    last = day->memory_peak;
    if (std::isnan(first)) first = last;
  }
  return window.days.size() >= kMinDays && last >= first * kLeakGrowth;
}

std::string cores_text(double cores) { return fmt::format("{:.0f}m", std::ceil(cores * 1000)); }
std::string bytes_text(double bytes) { return fmt::format("{:.0f}Mi", std::ceil(bytes / kMiB)); }

Level lower(Level level) {
  return level == Level::kHigh ? Level::kMedium : (level == Level::kNone ? Level::kNone : Level::kLow);
}

class Adviser {
 public:
  Adviser(const ContainerSpec& spec, const ContainerHistory& history, const Rules& rules)
      : history_(history), rules_(rules), window_(window_of(history, rules)) {
    advice_.current = spec.resources;
    advice_.is_sidecar = spec.is_sidecar;
    advice_.can_be_patched = spec.is_in_template;
    advice_.oom_kills = spec.oom_kills;
    note_days();
    observe();
    advice_.no_advice_reason = no_advice_reason();
    if (!advice_.has_advice()) return;
    recommend_cpu();
    recommend_memory();
    note_heap(spec.heap);
    judge();
  }
  Advice take() && { return std::move(advice_); }

 private:
  void note_days() {
    advice_.days = static_cast<int>(window_.days.size());
    advice_.samples = window_.samples;
    if (!window_.dates.empty()) advice_.missing_days = window_.dates.back() - window_.dates.front() + 1 - advice_.days;
  }

  void observe() {
    const Tally cpu_peaks = tally_of(window_, &DayUsage::cpu_peak);
    const Tally memory_peaks = tally_of(window_, &DayUsage::memory_peak);
    cpu_days_ = static_cast<int>(cpu_peaks.count);
    memory_days_ = static_cast<int>(memory_peaks.count);
    peaks_ = cpu_peaks.mean();
    advice_.cpu_used = tally_of(window_, &DayUsage::cpu_mean).mean();
    advice_.memory_used = tally_of(window_, &DayUsage::memory_mean).mean();
    advice_.memory_peak = memory_peaks.peak;
    advice_.startup_peak = tally_of(window_, &DayUsage::cpu_startup_peak).peak;
    advice_.throttled = tally_of(window_, &DayUsage::throttled).peak;
    advice_.burstiness = burstiness(tally_of(window_, &DayUsage::cpu_p95).mean(), advice_.cpu_used);
    std::uint32_t kills = 0;
    for (const DayUsage* day : window_.days) kills += day->oom_kills;
    advice_.oom_kills = std::max(advice_.oom_kills, kills);
  }

  std::string no_advice_reason() const {
    const std::uint64_t odd = history_.oddities.total();
    if (window_.samples == 0 && odd == 0) return "no history (0 samples)";
    if (static_cast<double>(odd) > kMaxOdd * static_cast<double>(odd + window_.samples))
      return fmt::format("{} of {} samples are negative, implausible, duplicate or out of time order", odd,
                         odd + window_.samples);
    if (advice_.days >= kMinDays) return missing_figures();
    return fmt::format("{} {} of history with at least 12h, {} are needed ({} samples, {} in all)", advice_.days,
                       advice_.days == 1 ? "day" : "days", kMinDays, window_.samples,
                       base::format_age(window_.covered));
  }

  std::string missing_figures() const {
    if (cpu_days_ < kMinDays && memory_days_ < kMinDays)
      return fmt::format("no CPU and no memory samples on {} days ({} samples)", kMinDays, window_.samples);
    if (rules_.profile == Profile::kPercentile && (!history_.cpu || history_.cpu->count() == 0))
      return fmt::format(
          "profile Percentile needs individual samples, daily aggregates are not sufficient ({} samples)",
          window_.samples);
    return {};
  }

  double standard_request() const {
    const double b = std::isnan(advice_.burstiness) ? 0 : advice_.burstiness;
    return (0.9 - 0.3 * b) * peaks_;
  }

  /// Computes the percentile with its 95 % confidence interval from binomial ranks, assuming independent samples.
  double percentile_request() {
    const double q = rules_.percentile / 100;
    const auto count = static_cast<double>(history_.cpu->count());
    const double spread = kTwoSigma * std::sqrt(q * (1 - q) / count);
    advice_.percentile_low = history_.cpu->quantile(std::max(q - spread, 0.0));
    advice_.percentile_high = history_.cpu->quantile(std::min(q + spread, 1.0));
    // The sketch is approximate and may exceed the observed peak.
    Tally peaks;
    for (const auto& [day, usage] : history_.days) peaks.add(usage.cpu_peak);
    const double request = history_.cpu->quantile(q);
    return peaks.peak < request ? peaks.peak : request;
  }

  void note_missing(const char* what, int days) {
    advice_.reasons.push_back(days == 0 ? fmt::format("{} has no samples", what)
                                        : fmt::format("{} has samples for {} {}, {} are needed", what, days,
                                                      days == 1 ? "day" : "days", kMinDays));
  }

  void recommend_cpu() {
    if (cpu_days_ < kMinDays) return note_missing("CPU", cpu_days_);
    double request = peaks_;
    double limit = peaks_;
    if (rules_.profile == Profile::kStandard) request = standard_request();
    if (rules_.profile == Profile::kPercentile) request = percentile_request();
    limit = std::max(limit, request);
    if (advice_.throttled > kMaxThrottled) {  // its use is below its demand
      request = std::max(request, advice_.current.cpu_request.value_or(0));
      limit = std::max(limit, advice_.current.cpu_limit.value_or(0));
    }
    advice_.recommended.cpu_request = whole_cores(request);
    advice_.recommended.cpu_limit = std::max(whole_cores(limit), whole_cores(request));
  }

  void recommend_memory() {
    if (memory_days_ < kMinDays) return note_missing("memory", memory_days_);
    double most = advice_.memory_peak;
    // A container that was OOM-killed needed more than its limit.
    if (advice_.oom_kills > 0) most = std::max(most, advice_.current.memory_limit.value_or(0));
    advice_.recommended.memory_request = advice_.recommended.memory_limit = whole_bytes(most * (1 + kMemoryMargin));
  }

  void note_heap(const HeapFlags& heap) {
    if (heap.max_ram_percent) {
      advice_.conflicts.push_back(
          {"memory", "MaxRAMPercentage",
           fmt::format("MaxRAMPercentage={:g}: the heap follows the memory limit, so a new limit changes the heap",
                       *heap.max_ram_percent)});
    }
    if (!heap.max_heap_bytes || !advice_.recommended.memory_limit) return;
    const double needed = *heap.max_heap_bytes / kHeapShare;
    if (needed <= *advice_.recommended.memory_limit) return;
    advice_.conflicts.push_back(
        {"memory", "-Xmx",
         fmt::format("-Xmx{} allows more than {} recommended: set both together", bytes_text(*heap.max_heap_bytes),
                     bytes_text(*advice_.recommended.memory_limit))});
  }

  void raise_risk(Level level, std::string reason) {
    advice_.risk = std::max(advice_.risk, level);
    advice_.reasons.push_back(std::move(reason));
  }

  void judge() {
    advice_.risk = Level::kLow;
    judge_observations();
    judge_changes();
    judge_confidence();
  }

  void judge_observations() {
    if (advice_.oom_kills > 0)
      raise_risk(Level::kHigh, fmt::format("{} OOM {}: the memory maximum is cut off by the limit", advice_.oom_kills,
                                           advice_.oom_kills == 1 ? "kill" : "kills"));
    if (advice_.throttled > kMaxThrottled)
      raise_risk(
          Level::kHigh,
          fmt::format("throttled in {:.0f}% of the periods: CPU use is cut off by the limit, so it is not lowered",
                      advice_.throttled * 100));
    if (grows(window_)) raise_risk(Level::kHigh, "memory grows day by day (a leak?): its maximum may still rise");
    if (advice_.burstiness > kHighBurstiness)
      raise_risk(Level::kMedium, fmt::format("CPU use is bursty: b is {:.2f}", advice_.burstiness));
    if (advice_.recommended.cpu_limit && advice_.startup_peak > *advice_.recommended.cpu_limit)
      raise_risk(Level::kMedium,
                 fmt::format("startup uses {}: with a limit of {} it starts more slowly",
                             cores_text(advice_.startup_peak), cores_text(*advice_.recommended.cpu_limit)));
  }

  void judge_changes() {
    const auto halves = [](const std::optional<double>& now, const std::optional<double>& then) {
      return now && then && *then < *now / 2;
    };
    if (halves(advice_.current.cpu_request, advice_.recommended.cpu_request))
      raise_risk(Level::kMedium, "the CPU request falls by more than half");
    if (halves(advice_.current.memory_request, advice_.recommended.memory_request))
      raise_risk(Level::kMedium, "the memory request falls by more than half");
    if (!advice_.current.memory_limit && advice_.recommended.memory_limit)
      raise_risk(Level::kMedium, "a memory limit is added: containers that exceed it are killed");
    if (!advice_.current.cpu_limit && advice_.recommended.cpu_limit)
      raise_risk(Level::kMedium, "a CPU limit is added: containers that exceed it are throttled");
  }

  void judge_confidence() {
    constexpr int kWeek = 7;
    const int days = advice_.days;
    advice_.confidence = days >= 2 * kWeek ? Level::kHigh : (days >= kWeek ? Level::kMedium : Level::kLow);
    if (days < kWeek) advice_.reasons.push_back("less than a week: a weekday may be missing");
    const auto doubt = [&](std::string reason) {
      advice_.confidence = lower(advice_.confidence);
      advice_.reasons.push_back(std::move(reason));
    };
    if (advice_.missing_days > 0)
      doubt(fmt::format("{} of {} days are missing", advice_.missing_days, days + advice_.missing_days));
    if (const auto odd = history_.oddities.total(); odd > 0) doubt(fmt::format("{} samples are ignored", odd));
    if (rules_.profile != Profile::kPercentile || !history_.cpu) return;
    const double beyond = (1 - rules_.percentile / 100) * static_cast<double>(history_.cpu->count());
    if (beyond < kMinBeyond) doubt(fmt::format("only {:.0f} samples are above the percentile", std::floor(beyond)));
  }

  const ContainerHistory& history_;
  const Rules& rules_;
  const Window window_;
  double peaks_ = kUnknown;
  int cpu_days_ = 0;  ///< number of days with a CPU peak
  int memory_days_ = 0;
  Advice advice_;
};

bool targets(const Autoscaler& autoscaler, const WorkloadKey& key) {
  return autoscaler.ns == key.ns && autoscaler.target_kind == key.kind && autoscaler.target_name == key.name;
}

void add_autoscaler(const Autoscaler& autoscaler, Advice& advice) {
  const bool is_horizontal = autoscaler.kind == "HorizontalPodAutoscaler";
  const std::string with = (is_horizontal ? "HPA " : "VPA ") + autoscaler.name;
  const auto add = [&](const char* resource) {
    const std::string text =
        is_horizontal ? fmt::format("{} scales by the percentage of the {} request: a new request changes the replicas",
                                    with, resource)
                      : fmt::format("{} (mode {}) writes the {} request itself", with, autoscaler.mode, resource);
    advice.conflicts.push_back({resource, with, text});
  };
  if (autoscaler.by_cpu) add("cpu");
  if (autoscaler.by_memory) add("memory");
}

Advice gone_container(const ContainerKey& key, const ContainerHistory& history, const Rules& rules, bool has_workload) {
  Advice advice = advise_container({}, history, rules);
  advice.key = key;
  advice.recommended = {};
  advice.risk = advice.confidence = Level::kNone;
  advice.reasons.clear();
  advice.conflicts.clear();
  advice.no_advice_reason = fmt::format(
      "{}: its {} days ({} samples) are not used",
      has_workload ? "the workload no longer has this container (renamed?)" : "the workload no longer exists",
      advice.days, advice.samples);
  return advice;
}

}  // namespace

std::string_view to_string(Profile profile) { return kProfiles[static_cast<std::size_t>(profile)]; }

std::optional<Profile> parse_profile(std::string_view text) {
  const auto at = std::ranges::find(kProfiles, text);
  return at == kProfiles.end() ? std::nullopt : std::optional(static_cast<Profile>(at - kProfiles.begin()));
}

std::string_view to_string(Level level) { return kLevels[static_cast<std::size_t>(level)]; }

bool Advice::conflicts_in(std::string_view resource) const {
  return std::ranges::any_of(conflicts, [&](const Conflict& conflict) { return conflict.resource == resource; });
}

Advice advise_container(const ContainerSpec& spec, const ContainerHistory& history, const Rules& rules) {
  return Adviser(spec, history, rules).take();
}

std::vector<Advice> advise_requests(const Inventory& inventory, const Histories& histories, const Rules& rules) {
  std::vector<Advice> all;
  const ContainerHistory none;
  for (const auto& [key, workload] : inventory.workloads) {
    for (const ContainerSpec& spec : workload.containers) {
      const auto past = histories.containers.find({key, spec.name});
      Advice advice = advise_container(spec, past == histories.containers.end() ? none : past->second, rules);
      advice.key = {key, spec.name};
      advice.replicas = workload.replicas;
      for (const Autoscaler& autoscaler : inventory.autoscalers) {
        if (advice.has_advice() && targets(autoscaler, key)) add_autoscaler(autoscaler, advice);
      }
      all.push_back(std::move(advice));
    }
  }
  for (const auto& [key, history] : histories.containers) {
    const auto workload = inventory.workloads.find(key.workload);
    const bool is_there = workload != inventory.workloads.end();
    if (history.days.empty() || (is_there && workload->second.container(key.container) != nullptr)) continue;
    all.push_back(gone_container(key, history, rules, is_there));
  }
  std::ranges::sort(all, {}, [](const Advice& advice) -> const ContainerKey& { return advice.key; });
  return all;
}

}  // namespace advisor
