#include "planner/strategies/lifetime/restart_history.hpp"

#include <algorithm>
#include <tuple>

namespace strategies {

void RestartHistory::observe(const ClusterSnapshot& cluster, base::TimePoint now) {
  for (const PodIndex index : cluster.pods()) {
    const api::Pod& pod = cluster.pod(index);
    for (const api::ContainerStatus& status : pod.container_statuses) {
      if (status.restart_count == 0) continue;
      auto pod_at = pods_.find(pod.meta.uid);
      if (pod_at == pods_.end()) pod_at = pods_.try_emplace(pod.meta.uid).first;
      auto at = pod_at->second.find(status.name);
      if (at == pod_at->second.end()) at = pod_at->second.try_emplace(status.name).first;
      Track& track = at->second;
      track.last_seen = now;
      if (track.looks.empty() || track.looks.back().total != status.restart_count) {
        track.looks.push_back({now, status.restart_count});
      }
      // Keeps one observation from before the horizon as the base of the window.
      while (track.looks.size() > 1 && track.looks[1].time <= now - kept_) track.looks.erase(track.looks.begin());
    }
  }
  for (auto& [uid, containers] : pods_) {
    std::erase_if(containers, [&](const auto& each) { return each.second.last_seen != now; });
  }
  std::erase_if(pods_, [](const auto& each) { return each.second.empty(); });
}

std::vector<api::RestartRecord> RestartHistory::records(base::Duration window, base::TimePoint now) const {
  std::vector<api::RestartRecord> records;
  for (const auto& [uid, containers] : pods_) {
    for (const auto& [container, track] : containers) {
      api::RestartRecord& record = records.emplace_back(api::RestartRecord{uid, container, {}});
      for (const Look& look : track.looks) {
        // Keeps the newest observation from before the window as its base.
        if (look.time <= now - window) record.looks.clear();
        record.looks.push_back({std::chrono::floor<base::seconds>(look.time), look.total});
      }
      if (record.looks.size() > api::kMaxRestartLooks)
        record.looks.erase(record.looks.begin(),
                           record.looks.end() - static_cast<std::ptrdiff_t>(api::kMaxRestartLooks));
    }
  }
  if (records.size() > api::kMaxRestartRecords) {
    const auto newest = [](const api::RestartRecord& record) { return record.looks.back().time; };
    std::ranges::stable_sort(records, std::ranges::greater{}, newest);
    records.resize(api::kMaxRestartRecords);
    std::ranges::sort(records, {},
                      [](const api::RestartRecord& record) { return std::tie(record.uid, record.container); });
  }
  return records;
}

void RestartHistory::restore(const std::vector<api::RestartRecord>& records, base::TimePoint now) {
  for (const auto& [uid, container, looks] : records) {
    for (const api::RestartObservation& look : looks) {
      if (look.time > now) continue;
      std::vector<Look>& known = pods_[uid][container].looks;
      if (std::ranges::find(known, look.total, &Look::total) != known.end()) continue;
      known.insert(std::ranges::upper_bound(known, look.time, {}, &Look::time), {look.time, look.total});
    }
  }
}

std::optional<std::int32_t> RestartHistory::total_at(std::string_view uid, std::string_view container,
                                                     base::TimePoint then) const {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return std::nullopt;
  const auto at = pod->second.find(container);
  if (at == pod->second.end()) return std::nullopt;
  const std::vector<Look>& looks = at->second.looks;
  const auto after = std::ranges::upper_bound(looks, then, {}, &Look::time);
  return after == looks.begin() ? looks.front().total : std::prev(after)->total;
}

}  // namespace strategies
