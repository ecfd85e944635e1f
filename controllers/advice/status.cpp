#include "controllers/advice/status.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "advisor/patches.hpp"
#include "advisor/rolling/codec.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "base/text.hpp"

namespace controllers::advice {
namespace {

using advisor::Advice;
using Amount = std::optional<double>;
using Quantity = std::string (*)(double);

constexpr std::size_t kMaxText = 1000;

std::string bounded(std::string_view text) { return base::truncate_utf8(text, kMaxText); }

std::string text_of(const Amount& amount, Quantity quantity) { return amount ? quantity(*amount) : std::string(); }

api::AdvisedResources resources_of(const advisor::Resources& resources) {
  return {text_of(resources.cpu_request, advisor::cpu_quantity), text_of(resources.cpu_limit, advisor::cpu_quantity),
          text_of(resources.memory_request, advisor::memory_quantity),
          text_of(resources.memory_limit, advisor::memory_quantity)};
}

api::ContainerAdvice container_of(const Advice& advice, const advisor::RollingHistory& history) {
  api::ContainerAdvice container;
  container.name = advice.key.container;
  container.current = resources_of(advice.current);
  if (advice.has_advice()) {
    container.recommended = resources_of(advice.recommended);
    container.confidence = to_string(advice.confidence);
    container.risk = to_string(advice.risk);
    for (const advisor::Conflict& conflict : advice.conflicts) container.notes.push_back(bounded(conflict.text));
    for (const std::string& reason : advice.reasons) container.notes.push_back(bounded(reason));
    if (container.notes.size() > api::kMaxAdviceNotes) container.notes.resize(api::kMaxAdviceNotes);
  }
  container.no_advice_reason = bounded(advice.no_advice_reason);
  container.samples = static_cast<std::int64_t>(advice.samples);
  container.days = advice.days;
  if (history.empty()) return container;
  container.first_sample = history.parts().first;
  container.last_sample = history.parts().last;
  container.sketch = advisor::encode_history(history);
  return container;
}

/// Sum over all containers: "500m → 250m"; "500m" if one has no advice; "none → 250m" if none has a current value.
std::string column(const std::vector<Advice>& all, Amount advisor::Resources::*amount, Quantity quantity) {
  double now = 0;
  double then = 0;
  bool has_now = false;
  bool has_then = !all.empty();
  for (const Advice& advice : all) {
    has_now |= (advice.current.*amount).has_value();
    has_then &= (advice.recommended.*amount).has_value();
    now += (advice.current.*amount).value_or(0);
    then += (advice.recommended.*amount).value_or(0);
  }
  const std::string before = has_now ? quantity(now) : "none";
  return has_then ? before + " → " + quantity(then) : before;
}

std::string lowest_confidence(const std::vector<Advice>& all) {
  advisor::Level lowest = all.empty() ? advisor::Level::kNone : advisor::Level::kHigh;
  for (const Advice& advice : all) lowest = std::min(lowest, advice.confidence);
  return std::string(to_string(lowest));
}

api::Condition ready_of(const std::vector<Advice>& all) {
  const auto without = std::ranges::find_if(all, [](const Advice& each) { return !each.has_advice(); });
  std::uint64_t samples = 0;
  for (const Advice& advice : all) samples += advice.samples;
  api::Condition ready;
  ready.type = to_string(api::ConditionType::kReady);
  if (without == all.end()) {
    ready.status = api::ConditionStatus::kTrue;
    ready.reason = to_string(api::Reason::kAdvised);
    ready.message = fmt::format("{} {} with advice by {} samples", all.size(),
                                all.size() == 1 ? "container" : "containers", samples);
    return ready;
  }
  ready.status = api::ConditionStatus::kFalse;
  ready.reason = to_string(api::Reason::kInsufficientHistory);
  ready.message = bounded(fmt::format("{}: {}", without->key.container, without->no_advice_reason));
  return ready;
}

}  // namespace

api::ResourceAdviceStatus advice_status(const advisor::WorkloadKey& key, const StoredAdvice& kept, advisor::Rules rules,
                                        base::TimePoint now) {
  rules.to = advisor::day_of(now);
  rules.from = rules.to - advisor::RollingHistory::kMaxDays;
  static const advisor::RollingHistory kNone;
  std::size_t left = kMaxSketchBytes;
  api::ResourceAdviceStatus status;
  std::vector<Advice> all;
  for (const advisor::ContainerSpec& spec : kept.workload.containers) {
    const auto known = kept.histories.find(spec.name);
    const advisor::RollingHistory& history = known == kept.histories.end() ? kNone : known->second;
    Advice& advice = all.emplace_back(advisor::advise_container(spec, history.history(), rules));
    advice.key = {key, spec.name};
    api::ContainerAdvice& container = status.containers.emplace_back(container_of(advice, history));
    if (container.sketch.size() > left) container.sketch.clear();
    left -= container.sketch.size();
  }
  status.workload = {kept.workload.owner.api_version, key.kind, key.name};
  status.workload_text = key.kind + "/" + key.name;
  status.profile = to_string(rules.profile);
  status.replicas = kept.workload.replicas;
  status.container_count = static_cast<std::int32_t>(all.size());
  status.cpu_text = column(all, &advisor::Resources::cpu_request, advisor::cpu_quantity);
  status.memory_text = column(all, &advisor::Resources::memory_request, advisor::memory_quantity);
  status.confidence = lowest_confidence(all);
  status.conditions = kept.conditions;
  set_condition(status.conditions, ready_of(all), now);
  return status;
}

std::vector<std::string> load_histories(const api::ResourceAdviceStatus& status, StoredAdvice& kept,
                                        base::TimePoint now) {
  std::vector<std::string> problems;
  if (const api::Condition* ready = find_condition(status.conditions, api::ConditionType::kReady))
    kept.conditions = {*ready};
  for (const api::ContainerAdvice& container : status.containers) {
    const auto is_it = [&](const advisor::ContainerSpec& spec) { return spec.name == container.name; };
    if (container.sketch.empty() || std::ranges::none_of(kept.workload.containers, is_it)) continue;
    const auto earlier = advisor::decode_history(container.sketch, now);
    if (earlier) {
      kept.histories[container.name].merge(*earlier);
    } else {
      problems.push_back(fmt::format("container {}: {}", container.name, earlier.error().message));
    }
  }
  return problems;
}

}  // namespace controllers::advice
