#include "controllers/policy/once_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/origin.hpp"
#include "api/vocabulary/reasons.hpp"
#include "base/text.hpp"

namespace controllers {
namespace {

/// Maximum number of Evacuations listed; a plan may have thousands.
constexpr std::size_t kMaxNamed = 20;
/// Maximum length of a message, which may quote text of other components.
constexpr std::size_t kMaxText = 300;

std::string cut_line(std::string_view text) {
  std::string line = base::truncate_utf8(text, kMaxText);
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return line;
}

std::string standing(const api::Evacuation& evacuation) {
  const std::string reason = evacuation.status.reason.empty() ? "" : "/" + evacuation.status.reason;
  return cut_line(fmt::format("{}{}: {}", api::to_string(evacuation.status.phase), reason, evacuation.status.message));
}

std::string cycle_text(const CycleOutcome& outcome, std::string_view why_it_moves_nothing) {
  std::string text = fmt::format("{} of {} pods nominated, {} Evacuations created", outcome.summary.nominated,
                                 outcome.summary.pods, outcome.summary.created);
  if (outcome.existing > 0) text += fmt::format(", {} already existed", outcome.existing);
  if (!why_it_moves_nothing.empty()) text += fmt::format("; {}", why_it_moves_nothing);
  if (!outcome.problems.empty()) text += fmt::format("; {}", outcome.problems.front());
  if (outcome.problems.size() > 1) text += fmt::format(" (and {} more problems)", outcome.problems.size() - 1);
  return cut_line(text);
}

void add_named(std::vector<std::string>& into, const std::map<api::ObjectKey, std::string>& from) {
  for (const auto& [key, text] : from) {
    if (into.size() == kMaxNamed) return;
    into.push_back(key.to_string() + ": " + text);
  }
}

}  // namespace

bool OnceReport::is_success() const {
  return is_done() && failed_count == 0 && std::ranges::none_of(cycles, &OnceCycle::is_fault);
}

bool OnceRun::has_cycled(const std::string& uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = cycles_.find(uid);
  return found != cycles_.end() && found->second.has_run;
}

void OnceRun::on_cycle(const api::ObjectMeta& policy, const CycleOutcome& outcome,
                       std::string_view why_it_moves_nothing, bool is_fault) {
  const std::scoped_lock lock(mutex_);
  cycles_[policy.uid] = {policy.name, cycle_text(outcome, why_it_moves_nothing), true,
                         is_fault || !outcome.problems.empty()};
}

void OnceRun::on_no_cycle(const api::ObjectMeta& policy, std::string_view why, bool is_fault) {
  const std::scoped_lock lock(mutex_);
  OnceCycle& cycle = cycles_[policy.uid];
  if (cycle.has_run) return;
  cycle = {policy.name, cut_line(why), false, is_fault};
}

void OnceRun::on_created(const api::ObjectKey& key) {
  const std::scoped_lock lock(mutex_);
  if (!seen_.contains(key)) unseen_.insert(key);
}

void OnceRun::finish(const api::Evacuation& ended) {
  // Expired without being approved or admitted.
  const bool has_expired = ended.status.reason == api::Reason::kDecisionExpired;
  switch (ended.status.phase) {
    case api::EvacuationPhase::kSucceeded: ++succeeded_count_; return;
    case api::EvacuationPhase::kCancelled:
      if (has_expired) break;
      ++cancelled_count_;
      return;
    default: break;
  }
  ++failed_count_;
  if (failed_.size() < kMaxNamed) failed_.emplace(ended.meta.key(), standing(ended));
}

void OnceRun::on_evacuation(const api::Evacuation* before, const api::Evacuation* after) {
  const api::Evacuation& seen = after != nullptr ? *after : *before;
  const api::ObjectKey key = seen.meta.key();
  const std::scoped_lock lock(mutex_);
  seen_.insert(key);
  const bool was_awaited = unseen_.erase(key) + unfinished_.erase(key) + suspended_.erase(key) > 0;
  if (!was_awaited && api::policy_of(seen).empty()) return;  // manual
  if (api::is_terminal(seen.status.phase)) {
    if (was_awaited) finish(seen);
  } else if (after == nullptr) {
    cancelled_count_ += was_awaited ? 1 : 0;  // it was deleted
  } else if (after->spec.suspend) {
    suspended_.insert(key);
  } else {
    unfinished_.emplace(key, standing(*after));
  }
}

OnceReport OnceRun::report(const std::vector<std::shared_ptr<const ObservedPolicy>>& policies) const {
  OnceReport report;
  const std::scoped_lock lock(mutex_);
  for (const auto& policy : policies) {
    if (policy->meta.is_terminating()) continue;
    if (const auto found = cycles_.find(policy->meta.uid); found != cycles_.end()) {
      report.cycles.push_back(found->second);
    } else {
      report.waiting_policies.push_back(policy->meta.name);
    }
  }
  std::ranges::sort(report.cycles, {}, &OnceCycle::policy);
  std::ranges::sort(report.waiting_policies);
  add_named(report.unfinished, unfinished_);
  add_named(report.failed, failed_);
  report.unfinished_count = static_cast<std::int64_t>(unfinished_.size() + unseen_.size());
  report.suspended_count = static_cast<std::int64_t>(suspended_.size());
  report.failed_count = failed_count_;
  report.succeeded_count = succeeded_count_;
  report.cancelled_count = cancelled_count_;
  return report;
}

std::string to_text(const OnceReport& report) {
  std::string text;
  for (const OnceCycle& each : report.cycles) text += fmt::format("policy {}: {}\n", each.policy, each.text);
  for (const std::string& each : report.waiting_policies)
    text += fmt::format("policy {}: its cycle has not run\n", each);
  text += fmt::format("Evacuations: {} succeeded, {} failed, {} cancelled, {} unfinished", report.succeeded_count,
                      report.failed_count, report.cancelled_count, report.unfinished_count);
  if (report.suspended_count > 0) text += fmt::format(", {} wait for approval", report.suspended_count);
  text += "\n";
  for (const std::string& each : report.failed) text += fmt::format("  {}\n", each);
  for (const std::string& each : report.unfinished) text += fmt::format("  {}\n", each);
  return text;
}

}  // namespace controllers
