#include "strategies/restart_history.hpp"

#include <algorithm>

namespace strategies {

void RestartHistory::observe(const scheduling::ClusterSnapshot& cluster, base::TimePoint now) {
  for (const scheduling::PodIndex index : cluster.pods()) {
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
      // One look from before the horizon stays: it says where the window begins.
      while (track.looks.size() > 1 && track.looks[1].time <= now - kept_) track.looks.erase(track.looks.begin());
    }
  }
  for (auto& [uid, containers] : pods_) {
    std::erase_if(containers, [&](const auto& each) { return each.second.last_seen != now; });
  }
  std::erase_if(pods_, [](const auto& each) { return each.second.empty(); });
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
