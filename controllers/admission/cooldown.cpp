#include "controllers/admission/cooldown.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/origin.hpp"
#include "base/backoff.hpp"
#include "base/time/stored_time.hpp"

namespace controllers {
namespace {

/// Maximum number of subjects in memory. Beyond it, those evacuated longest ago are dropped.
constexpr std::size_t kMaxSubjects = 100'000;
constexpr std::string_view kVirtualMachine = "VirtualMachineInstance";

std::vector<std::string> subjects_of(const std::string& ns, const std::string& pod, const api::OwnerReference* owner,
                                     const std::string& group) {
  std::vector<std::string> subjects;
  const bool is_vm = owner && owner->kind == kVirtualMachine;
  subjects.push_back(is_vm ? fmt::format("vm/{}/{}", ns, owner->name) : fmt::format("pod/{}/{}", ns, pod));
  const std::string& workload = group.empty() && owner ? owner->uid : group;
  if (!workload.empty()) subjects.push_back(fmt::format("workload/{}/{}", ns, workload));
  return subjects;
}

const std::optional<base::Duration>& base_of(const std::string& subject, const api::CooldownLimits& limits) {
  if (subject.starts_with("vm/")) return limits.virtual_machine;
  if (subject.starts_with("pod/")) return limits.pod;
  return limits.workload;
}

/// Number of times within `window` before the newest.
std::size_t count_recent(const std::vector<base::TimePoint>& times, base::Duration window) {
  return static_cast<std::size_t>(
      std::ranges::count_if(times, [&](auto each) { return each > times.back() - window; }));
}

template <typename Times>
std::vector<base::TimePoint> times_of(const Times& times) {
  std::vector<base::TimePoint> all;
  for (const auto& [time, policy] : times) all.push_back(time);
  return all;
}

}  // namespace

std::vector<std::string> cooldown_subjects(const api::Pod& pod) {
  return subjects_of(pod.meta.ns, pod.meta.name, pod.meta.controller(), "");
}

std::vector<std::string> cooldown_subjects(const api::Evacuation& evacuation, const api::Pod* pod) {
  const auto& known = evacuation.status.pod_owner;
  const api::OwnerReference* owner = known ? &*known : pod ? pod->meta.controller() : nullptr;
  return subjects_of(evacuation.meta.ns, evacuation.spec.pod_ref.name, owner, evacuation.spec.concurrency_group);
}

bool starts_cooldown(const api::Evacuation& evacuation) {
  const api::EvacuationStatus& status = evacuation.status;
  if (evacuation.spec.dry_run || !status.finished_at || status.attempt < 1) return false;
  if (status.phase == api::EvacuationPhase::kFailed) return status.request_sent_at.has_value();
  if (status.phase != api::EvacuationPhase::kSucceeded || !status.outcome) return false;
  const api::OutcomeKind kind = status.outcome->kind;
  return kind == api::OutcomeKind::kEvicted || kind == api::OutcomeKind::kMigrated ||
         kind == api::OutcomeKind::kMovedByOwner;
}

std::optional<base::TimePoint> cooldown_end(const std::string& subject, const std::vector<base::TimePoint>& times,
                                            const api::CooldownLimits& limits) {
  const auto& first = base_of(subject, limits);
  if (times.empty() || !first || *first == base::Duration::zero()) return std::nullopt;
  return times.back() +
         base::backoff_delay({*first, limits.maximum}, static_cast<std::int64_t>(count_recent(times, limits.window)));
}

void CooldownLedger::set_policy_limits(const std::string& policy, const std::optional<api::CooldownLimits>& limits) {
  const std::scoped_lock lock(mutex_);
  if (limits) {
    policies_[policy] = *limits;
  } else {
    policies_.erase(policy);
  }
}

/// Whether `time` is a wrong time that was corrected before, or the corrected time of that evacuation.
bool CooldownLedger::is_corrected(const std::string& subject, base::TimePoint time) const {
  const auto known = corrections_.find(subject);
  if (known == corrections_.end()) return false;
  const auto& [wrong, at] = known->second;
  return wrong.contains(time) || (time >= at - base::kClockTolerance && time <= at + base::kClockTolerance);
}

void CooldownLedger::correct(const std::string& subject, Times& times, base::TimePoint now) const {
  const auto first = times.upper_bound(now + base::kClockTolerance);
  if (first == times.end()) return;
  Correction& correction = corrections_[subject];
  correction.at = std::chrono::floor<base::seconds>(now);
  const std::string policy = times.rbegin()->second;
  for (auto each = first; each != times.end(); ++each) correction.wrong.insert(each->first);
  times.erase(first, times.end());
  times.emplace(correction.at, policy);
}

void CooldownLedger::add(const std::string& subject, base::TimePoint exact, const std::string& policy) {
  const base::TimePoint time = std::chrono::floor<base::seconds>(exact);
  if (is_corrected(subject, time)) return;
  Times& times = history_[subject];
  times.emplace(time, policy);
  if (times.size() > api::kMaxCooldownTimes) times.erase(times.begin());
}

void CooldownLedger::drop_oldest() {
  if (history_.size() <= kMaxSubjects) return;
  std::vector<base::TimePoint> newest;
  for (const auto& [subject, times] : history_) newest.push_back(times.rbegin()->first);
  const auto tenth = newest.begin() + static_cast<std::ptrdiff_t>(newest.size() / 10);
  std::ranges::nth_element(newest, tenth);
  std::erase_if(history_, [&](const auto& each) { return each.second.rbegin()->first <= *tenth; });
  std::erase_if(corrections_, [&](const auto& each) { return !history_.contains(each.first); });
}

void CooldownLedger::note(const api::Evacuation& evacuation) {
  if (!starts_cooldown(evacuation)) return;
  const std::scoped_lock lock(mutex_);
  for (const std::string& subject : cooldown_subjects(evacuation, nullptr)) {
    add(subject, *evacuation.status.finished_at, api::policy_of(evacuation));
  }
  drop_oldest();
}

void CooldownLedger::restore(const std::string& policy, const std::vector<api::CooldownRecord>& records) {
  const std::scoped_lock lock(mutex_);
  for (const auto& [subject, times] : records) {
    for (const base::TimePoint time : times) add(subject, time, policy);
  }
  drop_oldest();
}

/// Whether a limit may still need the subject's times.
bool CooldownLedger::matters(const std::string& subject, base::TimePoint last, const std::string& policy,
                             base::TimePoint now) const {
  const auto within = [&](const api::CooldownLimits& limits) {
    const auto& first = base_of(subject, limits);
    return first && *first > base::Duration::zero() && last + std::max(limits.window, limits.maximum) > now;
  };
  const auto own = policies_.find(policy);
  return within(cluster_) || (own != policies_.end() && within(own->second));
}

std::vector<api::CooldownRecord> CooldownLedger::records(const std::string& policy, base::TimePoint now) const {
  std::vector<api::CooldownRecord> records;
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [subject, times] : history_) {
      correct(subject, times, now);
      api::CooldownRecord record{subject, {}};
      for (const auto& [time, by] : times) {
        if (by.empty() || by == policy) record.times.push_back(time);
      }
      if (!record.times.empty() && matters(subject, record.times.back(), policy, now)) {
        records.push_back(std::move(record));
      }
    }
  }
  std::ranges::sort(records, [](const auto& a, const auto& b) {
    return a.times.back() != b.times.back() ? a.times.back() > b.times.back() : a.subject < b.subject;
  });
  if (records.size() > api::kMaxCooldowns) records.resize(api::kMaxCooldowns);
  std::ranges::sort(records, {}, &api::CooldownRecord::subject);
  return records;
}

std::optional<CooldownLedger::Cooling> CooldownLedger::cooling(const std::vector<std::string>& subjects,
                                                               const std::string& policy, base::TimePoint now) const {
  const std::scoped_lock lock(mutex_);
  std::optional<Cooling> longest;
  const auto look = [&](const std::string& subject, const std::vector<base::TimePoint>& times,
                        const api::CooldownLimits& limits) {
    const auto until = cooldown_end(subject, times, limits);
    if (!until || *until <= now || (longest && longest->until >= *until)) return;
    longest = Cooling{subject, count_recent(times, limits.window), *until};
  };
  const auto own = policies_.find(policy);
  for (const std::string& subject : subjects) {
    const auto history = history_.find(subject);
    if (history == history_.end()) continue;
    correct(subject, history->second, now);
    const auto times = times_of(history->second);
    look(subject, times, cluster_);
    if (own != policies_.end()) look(subject, times, own->second);
  }
  return longest;
}

}  // namespace controllers
