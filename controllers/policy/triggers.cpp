#include "controllers/policy/triggers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "api/core/soft_taint.hpp"

namespace controllers {
namespace {

using api::TriggerKind;

constexpr unsigned bit_of(TriggerKind kind) { return 1U << static_cast<unsigned>(kind); }

/// Taints without the soft ones, which policies set themselves.
std::vector<api::Taint> foreign_taints(const api::Node& node) {
  std::vector<api::Taint> taints = node.taints;
  std::erase_if(taints, api::is_soft_taint);
  return taints;
}

}  // namespace

bool differs_for_placement(const api::Node& before, const api::Node& after) {
  return before.unschedulable != after.unschedulable || before.is_ready() != after.is_ready() ||
         before.allocatable != after.allocatable || before.meta.labels != after.meta.labels ||
         (before.taints != after.taints && foreign_taints(before) != foreign_taints(after));
}

void Triggers::follow(const std::string& policy, const std::vector<api::ScheduleTrigger>& triggers) {
  const std::scoped_lock lock(mutex_);
  if (triggers.empty()) {
    policies_.erase(policy);
    return count_wanted();
  }
  std::vector<Trigger>& known = policies_[policy].triggers;
  std::vector<Trigger> next;
  for (const api::ScheduleTrigger& each : triggers) {
    const auto same = std::ranges::find(known, each, &Trigger::spec);
    next.push_back(same == known.end() ? Trigger{each} : *same);
  }
  known = std::move(next);
  count_wanted();
}

void Triggers::count_wanted() {
  unsigned wanted = 0;
  for (const auto& [name, entry] : policies_) {
    for (const Trigger& each : entry.triggers) wanted |= bit_of(each.spec.type);
  }
  wanted_ = wanted;
}

bool Triggers::is_wanted(TriggerKind kind) const { return (wanted_.load() & bit_of(kind)) != 0; }

void Triggers::on_node(const api::Node* before, const api::Node* after) {
  if (!after) return;
  const TriggerKind kind = before ? TriggerKind::kNodeChanged : TriggerKind::kNodeAdded;
  if (!is_wanted(kind) || (before && !differs_for_placement(*before, *after))) return;
  happened(kind);
}

void Triggers::on_pod(const api::Pod* before, const api::Pod* after) {
  if (!after || after->phase != api::PodPhase::kFailed || !is_wanted(TriggerKind::kPodFailed)) return;
  if (!before || before->phase != api::PodPhase::kFailed) happened(TriggerKind::kPodFailed);
}

bool Triggers::start(Entry& entry, const api::ScheduleTrigger& trigger, base::TimePoint now) {
  const base::TimePoint due = now + trigger.debounce;
  if (entry.pending && entry.pending->due <= due) return false;
  entry.pending = Pending{due, trigger.type};
  return true;
}

void Triggers::happened(TriggerKind kind) {
  if (!active_()) return;
  const base::TimePoint now = clock_.now();
  std::vector<std::pair<std::string, base::Duration>> woken;
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [name, entry] : policies_) {
      for (const Trigger& each : entry.triggers) {
        if (each.spec.type == kind && start(entry, each.spec, now)) woken.emplace_back(name, each.spec.debounce);
      }
    }
  }
  for (const auto& [name, after] : woken) wake_(name, after);
}

void Triggers::on_usage(const std::string& policy, std::string_view source, std::string_view resource, double percent) {
  if (!is_wanted(TriggerKind::kUsageSpike) || std::isnan(percent) || !active_()) return;
  const base::TimePoint now = clock_.now();
  std::optional<base::Duration> woken;
  {
    const std::scoped_lock lock(mutex_);
    const auto entry = policies_.find(policy);
    if (entry == policies_.end()) return;
    for (Trigger& each : entry->second.triggers) {
      const api::ScheduleTrigger& spec = each.spec;
      if (spec.type != TriggerKind::kUsageSpike || spec.source != source || spec.resource != resource) continue;
      const bool was_above = std::exchange(each.is_above, percent > spec.above);
      if (each.is_above && !was_above && start(entry->second, spec, now)) woken = spec.debounce;
    }
  }
  if (woken) wake_(policy, *woken);
}

std::optional<base::Duration> Triggers::due_in(const std::string& policy) const {
  const base::TimePoint now = clock_.now();
  const std::scoped_lock lock(mutex_);
  const auto entry = policies_.find(policy);
  if (entry == policies_.end() || !entry->second.pending) return std::nullopt;
  return std::max<base::Duration>(entry->second.pending->due - now, base::Duration::zero());
}

std::optional<TriggerKind> Triggers::take(const std::string& policy) {
  const std::scoped_lock lock(mutex_);
  const auto entry = policies_.find(policy);
  if (entry == policies_.end() || !entry->second.pending) return std::nullopt;
  return std::exchange(entry->second.pending, std::nullopt)->kind;
}

void Triggers::give_back(const std::string& policy, TriggerKind kind) {
  const base::TimePoint now = clock_.now();
  const std::scoped_lock lock(mutex_);
  const auto entry = policies_.find(policy);
  if (entry == policies_.end()) return;
  const auto& triggers = entry->second.triggers;
  if (std::ranges::none_of(triggers, [&](const Trigger& each) { return each.spec.type == kind; })) return;
  auto& pending = entry->second.pending;
  if (!pending || pending->due > now) pending = Pending{now, kind};
}

double highest_percent(const scheduling::MeasuredUsage& measured, std::string_view resource, const NodeLookup& node) {
  double highest = std::numeric_limits<double>::quiet_NaN();
  const auto column = std::ranges::find(measured.resources, resource, &scheduling::MeasuredUsage::Resource::name);
  if (column == measured.resources.end() || !measured.problem.empty()) return highest;
  const auto at = static_cast<std::size_t>(column - measured.resources.begin());
  for (const auto& each : measured.nodes) {
    if (!each.problem.empty() || at >= each.now.size() || each.now[at] == scheduling::kUnknownUsage) continue;
    const auto known = node(each.name);
    if (!known) continue;
    const double capacity =
        column->is_percent ? 100'000 : static_cast<double>(api::amount_of(known->allocatable, resource).milli());
    if (capacity > 0) highest = std::fmax(highest, static_cast<double>(each.now[at]) * 100 / capacity);
  }
  return highest;
}

}  // namespace controllers
