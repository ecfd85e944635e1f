#include "controllers/policy/usage/collector.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace controllers {
namespace {

using base::kv;

constexpr std::size_t kMaxArrivals = 10'000;
/// Maximum number of shifts kept while the source does not answer.
constexpr std::size_t kMaxShifts = 100'000;
/// A new pod that is not measured within this multiple of maxAge is dropped.
constexpr int kArrivalAges = 10;

}  // namespace

void UsageCollector::set(const std::string& policy, const std::vector<WantedUsage>& wanted) {
  const std::lock_guard lock(mutex_);
  for (auto& [text, entry] : entries_) entry->policies.erase(policy);
  wishes_.erase(policy);
  for (const WantedUsage& each : wanted) {
    api::UsageSource settings = each.source;
    settings.name.clear();  // so that equal settings share a source
    const std::string text = api::to_json_text(api::encode_usage_source(settings));
    auto [at, is_new] = entries_.try_emplace(text);
    if (is_new) at->second = std::make_shared<Entry>(each.source);
    at->second->policies.insert(policy);
    wishes_[policy].push_back({.key = each.key, .entry = text});
    if (is_new) queue_.add({"", text});
  }
  std::erase_if(entries_, [](const auto& entry) { return entry.second->policies.empty(); });
}

std::shared_ptr<UsageCollector::Entry> UsageCollector::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(key);
  return at == entries_.end() ? nullptr : at->second;
}

base::Result<kube::Requeue> UsageCollector::collect(const api::ObjectKey& key) {
  const std::shared_ptr<Entry> entry = find(key.name);
  if (!entry) return kube::Requeue::await_change();
  const auto place = limiter_.take(entry->asked);
  if (!place) return kube::Requeue::in(kube::SlowPeerLimiter::kRetryInterval);
  const std::lock_guard request_mutex(entry->request_mutex);
  auto answer = ask(*entry);
  if (answer) place->note_answer();
  publish(*entry, answer ? base::Status(base::Done{}) : answer.error());
  if (answer) {
    keep(*entry, *std::move(answer));
  } else {
    const std::lock_guard lock(mutex_);
    entry->rounds.fail(answer.error().message);
  }
  return kube::Requeue::in(entry->settings.interval);
}

base::Result<usage::Samples> UsageCollector::ask(Entry& entry) {
  if (!entry.source) entry.source = deps_.make_source(entry.settings);
  auto answer = entry.source->sample();
  const auto names = matcher();
  if (answer && names) usage::match_nodes(*answer, *names);
  return answer;
}

std::optional<usage::NodeMatcher> UsageCollector::matcher() const {
  if (!deps_.nodes) return std::nullopt;
  std::vector<usage::NodeNames> nodes;
  for (const auto& node : deps_.nodes()) nodes.push_back(usage::names_of(*node));
  return usage::NodeMatcher(nodes);
}

/// Loads the history from the source. If the source has none or fails to return it, the history begins now.
void UsageCollector::begin_history(Entry& entry, const std::vector<usage::Column>& columns) {
  const api::UsageForecast& wanted = *entry.settings.forecast;
  entry.history.emplace(wanted);
  const base::TimePoint now = deps_.clock.now();
  auto past = entry.source->history(now - wanted.history, now, wanted.step);
  if (past) {
    if (const auto names = matcher()) usage::match_nodes(*past, *names);
    return entry.history->seed(columns, *past);
  }
  if (past.error().code == base::ErrorCode::kUnsupported) return;
  deps_.log.warning("a usage source provides no history: forecasts start without it",
                    {kv("source", entry.settings.name), kv("problem", past.error().message)});
}

void UsageCollector::on_pod(const api::Pod* before, const api::Pod* after) {
  const auto runs = [](const api::Pod* pod) {
    return pod != nullptr && !pod->node_name.empty() && !pod->is_terminal();
  };
  // A list may show a re-created pod of the same name as one change.
  if (before != nullptr && after != nullptr && before->meta.uid != after->meta.uid) {
    on_pod(before, nullptr);
    return on_pod(nullptr, after);
  }
  if (runs(before) == runs(after)) return;
  const std::lock_guard lock(mutex_);
  for (const auto& [text, entry] : entries_) {
    if (entry->forecasts_since) note_pod(*entry, before, after);
    if (runs(before))
      entry->rounds.leave(before->node_name.value, before->meta.key(),
                          before->start_time.value_or(before->meta.creation_timestamp), deps_.clock.now());
  }
}

/// Ignores pods that existed when the history began, because they are included in it.
void UsageCollector::note_pod(Entry& entry, const api::Pod* before, const api::Pod* after) {
  const api::Pod& pod = after != nullptr ? *after : *before;
  if (const bool comes = after != nullptr && !after->is_terminal(); comes) {
    if (pod.meta.creation_timestamp < *entry.forecasts_since) return;
    if (entry.arrivals.size() >= kMaxArrivals) entry.arrivals.pop_front();
    entry.arrivals.push_back({pod.node_name.value, pod.meta.ns, pod.meta.name, deps_.clock.now()});
    return;
  }
  auto [values, answers_since] = entry.rounds.last_values(pod.meta.ns, pod.meta.name);
  const auto is_it = [&](const Arrival& each) { return each.ns == pod.meta.ns && each.pod == pod.meta.name; };
  if (std::erase_if(entry.arrivals, is_it) > 0 || values.empty()) return;
  for (double& value : values) value = -value;
  if (entry.shifts.size() < kMaxShifts)
    entry.shifts.push_back({before->node_name.value, std::move(values), answers_since});
}

std::vector<UsageCollector::Shift> UsageCollector::take_shifts(Entry& entry) {
  const std::lock_guard lock(mutex_);
  if (!entry.forecasts_since) entry.forecasts_since = deps_.clock.now();
  return std::exchange(entry.shifts, {});
}

void UsageCollector::measure_arrivals(Entry& entry) {
  const base::TimePoint now = deps_.clock.now();
  std::erase_if(entry.arrivals, [&](const Arrival& each) {
    std::vector<double> values = entry.rounds.pod_values(each.ns, each.pod);
    if (values.empty()) return now - each.since > kArrivalAges * entry.settings.max_age;
    entry.shifts.push_back({each.node, std::move(values)});
    return true;
  });
}

Forecasts UsageCollector::foresee(Entry& entry, const usage::Samples& samples) {
  if (!entry.history) begin_history(entry, samples.columns);
  const base::TimePoint now = deps_.clock.now();
  for (const Shift& shift : take_shifts(entry)) {
    for (std::size_t c = 0; c < shift.by.size(); ++c) {
      if (std::isfinite(shift.by[c])) entry.history->shift(shift.node, c, shift.by[c], shift.known);
    }
  }
  entry.history->add(samples, now);
  Forecasts foreseen;
  for (const usage::Samples::Node& node : samples.nodes) {
    std::vector<std::int64_t> peaks;
    for (const usage::Forecast& forecast : entry.history->of(node.name, now))
      peaks.push_back(forecast.trusted ? thousandths(forecast.peak) : scheduling::kUnknownUsage);
    if (!peaks.empty()) foreseen.emplace(node.name, std::move(peaks));
  }
  return foreseen;
}

void UsageCollector::keep(Entry& entry, usage::Samples samples) {
  std::vector<std::string> complaints;
  {
    const std::lock_guard lock(mutex_);
    entry.rounds.take(samples, deps_.clock.now());
    drop_outdated_figures(entry);
    measure_arrivals(entry);
    complaints = entry.rounds.health().complaints;
  }
  if (complaints != entry.told) {
    entry.told = std::move(complaints);
    for (const std::string& each : entry.told)
      deps_.log.warning("a usage source returned a response with faults",
                        {kv("source", entry.settings.name), kv("problem", each)});
  }
  if (!entry.settings.forecast) return;
  Forecasts foreseen = foresee(entry, samples);
  const auto quality = entry.history->quality(deps_.clock.now());
  const std::lock_guard lock(mutex_);
  entry.rounds.foresee(std::move(foreseen));
  entry.quality = quality;
}

void UsageCollector::publish(const Entry& entry, const base::Status& done) {
  const std::string& name = entry.settings.name;
  deps_.metrics
      .counter("evacuator_usage_questions_total", "Number of requests to usage sources, by result.",
               {{"source", name}, {"result", done ? "answered" : "failed"}})
      .increment();
  if (!done)
    deps_.log.warning("a usage source returned no usable response",
                      {kv("source", name), kv("problem", done.error().message)});
}

void UsageCollector::drop_outdated_figures(const Entry& entry) {
  for (auto& [policy, wishes] : wishes_) {
    for (WantedFigures& wish : wishes) {
      const auto at = entries_.find(wish.entry);
      if (at != entries_.end() && at->second.get() == &entry) wish.last.reset();
    }
  }
}

std::shared_ptr<const scheduling::MeasuredUsage> UsageCollector::figures_of(WantedFigures& wish, UsageRounds& rounds,
                                                                            base::TimePoint now) {
  if (wish.last && wish.version == rounds.version() && now <= wish.valid_until) return wish.last;
  wish.last = std::make_shared<const scheduling::MeasuredUsage>(rounds.figures(wish.key, now));
  wish.version = rounds.version();
  wish.valid_until = rounds.valid_until(*wish.last, now);
  return wish.last;
}

UsageFigures UsageCollector::figures(const std::string& policy) {
  const std::lock_guard lock(mutex_);
  UsageFigures figures;
  const auto wishes = wishes_.find(policy);
  if (wishes == wishes_.end()) return figures;
  for (WantedFigures& wish : wishes->second) {
    Entry& entry = *entries_.at(wish.entry);
    figures.measured.push_back(figures_of(wish, entry.rounds, deps_.clock.now()));
    figures.health.push_back(entry.rounds.health());
    if (entry.settings.forecast) figures.forecasts.push_back({wish.key, entry.quality});
  }
  return figures;
}

}  // namespace controllers
