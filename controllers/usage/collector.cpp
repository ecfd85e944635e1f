#include "controllers/usage/collector.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace controllers {
namespace {

using base::kv;

/// Equal settings ask the same, whatever they are called.
std::string text_of(api::UsageSource source) {
  source.name.clear();
  return api::to_json_text(api::encode_usage_source(source));
}

}  // namespace

void UsageCollector::set(const std::string& policy, const std::vector<WantedUsage>& wanted) {
  const std::lock_guard lock(mutex_);
  for (auto& [text, entry] : entries_) entry->policies.erase(policy);
  wishes_.erase(policy);
  for (const WantedUsage& each : wanted) {
    const std::string text = text_of(each.source);
    auto [at, is_new] = entries_.try_emplace(text);
    if (is_new) at->second = std::make_shared<Entry>(each.source);
    at->second->policies.insert(policy);
    wishes_[policy].push_back({each.key, text});
    if (is_new) queue_.add({"", text});
  }
  std::erase_if(entries_, [](const auto& entry) { return entry.second->policies.empty(); });
}

base::Result<kube::Requeue> UsageCollector::collect(const api::ObjectKey& key) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(key.name);
    if (at == entries_.end()) return kube::Requeue::await_change();
    entry = at->second;
  }
  const std::lock_guard asking(entry->asking);
  if (!entry->source) entry->source = deps_.make_source(entry->settings);
  auto answer = entry->source->sample();
  const bool ok = answer.ok();
  {
    const std::lock_guard lock(mutex_);
    if (ok) {
      entry->rounds.add(*std::move(answer), deps_.clock.now());
    } else {
      entry->rounds.fail(answer.error().message);
    }
  }
  publish(*entry, ok);
  return kube::Requeue::in(entry->settings.interval);
}

void UsageCollector::publish(const Entry& entry, bool ok) {
  const std::string& name = entry.settings.name;
  deps_.metrics
      .counter("evacuator_usage_questions_total", "Questions to usage sources, by result.",
               {{"source", name}, {"result", ok ? "answered" : "failed"}})
      .increment();
  if (!ok)
    deps_.log.warning("a usage source gave no usable answer",
                      {kv("source", name), kv("problem", entry.rounds.problem())});
}

MeasuredUsages UsageCollector::figures(const std::string& policy) const {
  const std::lock_guard lock(mutex_);
  MeasuredUsages all;
  const auto wishes = wishes_.find(policy);
  if (wishes == wishes_.end()) return all;
  for (const Wish& wish : wishes->second) {
    const auto entry = entries_.find(wish.entry);
    all.push_back(
        std::make_shared<const scheduling::MeasuredUsage>(entry->second->rounds.figures(wish.key, deps_.clock.now())));
  }
  return all;
}

}  // namespace controllers
