#include "controllers/advice/advice_store.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace controllers::advice {
namespace {

using advisor::WorkloadKey;

bool has_container(const AdvisedWorkload& workload, std::string_view name) {
  return std::ranges::find(workload.containers, name, &advisor::ContainerSpec::name) != workload.containers.end();
}

}  // namespace

/// Each workload has a fixed offset in the interval, independent of the start of the process.
base::TimePoint AdviceStore::next_write(const WorkloadKey& key, base::TimePoint now) const {
  const auto interval = static_cast<std::uint64_t>(settings_.interval.count());
  // The hash is equal in every process, so that all leaders use the same schedule.
  const std::uint64_t hash = base::fnv1a(key.ns + "/" + key.kind + "/" + key.name + "/");
  const auto phase = static_cast<base::Duration::rep>(hash % interval);
  const auto since = now.time_since_epoch().count() - phase;
  const auto turns = since / settings_.interval.count() + 1;
  return base::TimePoint(base::Duration(turns * settings_.interval.count() + phase));
}

void AdviceStore::follow(Advised found, base::TimePoint now) {
  ++round_;
  for (auto& [key, kept] : kept_) kept.is_there = false;
  for (auto& [key, workload] : found.workloads) {
    const auto [at, is_new] = kept_.try_emplace(key);
    StoredAdvice& kept = at->second;
    if (is_new) kept.due = next_write(key, now);
    kept.is_there = true;
    kept.workload = std::move(workload);
    std::erase_if(kept.histories, [&](const auto& each) { return !has_container(kept.workload, each.first); });
  }
  std::unordered_map<std::string, Pod> pods;
  for (auto& [name, pod] : found.pods) {
    const auto before = pods_.find(name);
    const base::TimePoint last = before == pods_.end() ? base::TimePoint{} : before->second.last;
    pods.emplace(name, Pod{std::move(pod), last, 0});
  }
  pods_ = std::move(pods);
  leave(now, found.workloads.size());
}

/// Schedules workloads that have left for an immediate write. Drops those that were never written, except CronJobs,
/// whose pods come and go. The number of leaving workloads is limited to that of the running ones, at least 100.
void AdviceStore::leave(base::TimePoint now, std::size_t most) {
  std::size_t leaving = 0;
  for (auto at = kept_.begin(); at != kept_.end();) {
    StoredAdvice& kept = at->second;
    const bool is_worth = kept.has_news && (kept.is_loaded || at->first.kind == "CronJob");
    if (!kept.is_there && (!is_worth || leaving >= std::max<std::size_t>(most, 100))) {
      at = kept_.erase(at);
      continue;
    }
    if (!kept.is_there) {
      ++leaving;
      kept.due = std::min(kept.due, now);
    }
    ++at;
  }
}

void AdviceStore::sample(const usage::ContainerSample& sample, base::TimePoint now) {
  key_.assign(sample.ns).append(1, '/').append(sample.pod);
  const auto at = pods_.find(key_);
  if (at == pods_.end()) return;
  Pod& pod = at->second;
  const bool is_old = sample.time < pod.last || (sample.time == pod.last && pod.round != round_);
  if (is_old || sample.time < now - settings_.max_age || sample.time > now + settings_.max_age) return;
  StoredAdvice* kept = find(pod.pod.workload);
  if (kept == nullptr || !has_container(kept->workload, sample.container)) return;
  pod.last = sample.time;
  pod.round = round_;
  const base::TimePoint time = std::min(sample.time, now);
  const bool is_startup = pod.pod.started && time - *pod.pod.started < settings_.startup;
  auto history = kept->histories.find(sample.container);
  if (history == kept->histories.end())
    history = kept->histories.emplace(std::string(sample.container), advisor::RollingHistory()).first;
  history->second.add(time, sample.cpu, sample.memory, is_startup);
  kept->has_news = true;
}

std::vector<WorkloadKey> AdviceStore::due(base::TimePoint now) const {
  std::vector<std::pair<base::TimePoint, WorkloadKey>> found;
  for (const auto& [key, kept] : kept_) {
    if (kept.has_news && kept.due <= now) found.emplace_back(kept.due, key);
  }
  std::sort(found.begin(), found.end());
  std::vector<WorkloadKey> keys;
  for (auto& [time, key] : found) keys.push_back(std::move(key));
  return keys;
}

std::optional<base::TimePoint> AdviceStore::next_due() const {
  std::optional<base::TimePoint> next;
  for (const auto& [key, kept] : kept_) {
    if (kept.has_news && (!next || kept.due < *next)) next = kept.due;
  }
  return next;
}

StoredAdvice* AdviceStore::find(const WorkloadKey& key) {
  const auto at = kept_.find(key);
  return at == kept_.end() ? nullptr : &at->second;
}

void AdviceStore::written(const WorkloadKey& key, base::TimePoint now, bool has_succeeded) {
  StoredAdvice* kept = find(key);
  if (kept == nullptr) return;
  if (has_succeeded) kept->has_news = false;
  kept->due = next_write(key, now);
  if (!kept->is_there) forget(key);
}

void AdviceStore::limit_due(base::TimePoint now) {
  for (auto& [key, kept] : kept_) kept.due = std::min(kept.due, next_write(key, now));
}

}  // namespace controllers::advice
