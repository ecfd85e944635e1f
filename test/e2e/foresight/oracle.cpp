#include "test/e2e/foresight/oracle.hpp"

#include <algorithm>

namespace e2e {
namespace {

const std::set<std::string> kHolders{"Preparing", "Requesting", "InProgress", "Evicting", "Aborting"};

struct Seen {
  std::string ns;
  std::string pod;
  std::string phase;
};

struct Counts {
  int total = 0;
  std::map<std::string, int> node;
  std::map<std::string, int> ns;
  std::map<std::string, int> workload;
};

Counts count(const std::map<std::string, Seen>& state, const std::map<std::string, Place>& places) {
  Counts counts;
  for (const auto& [key, seen] : state) {
    const auto place = places.find(seen.ns + "/" + seen.pod);
    const bool holds = kHolders.contains(seen.phase);
    if (place != places.end() && (holds || seen.phase == "Verifying"))
      ++counts.workload[seen.ns + "/" + place->second.workload];
    if (!holds) continue;
    ++counts.total;
    ++counts.ns[seen.ns];
    if (place != places.end()) ++counts.node[place->second.node];
  }
  return counts;
}

void judge(const std::string& scope, int holders, const std::optional<int>& limit, int& most, SlotReport& report) {
  most = std::max(most, holders);
  if (!limit || holders <= *limit) return;
  report.violations.push_back("revision " + std::to_string(report.revisions) + ": " + std::to_string(holders) +
                              " hold slots of " + scope + ", the limit is " + std::to_string(*limit));
}

/// Returns true if the pod is ready and not terminating.
bool serves(const Json& pod) {
  if (pod.at("metadata").contains("deletionTimestamp")) return false;
  const Json::json_pointer conditions("/status/conditions");
  if (!pod.contains(conditions)) return false;
  const Json& all = pod.at(conditions);
  return std::any_of(all.begin(), all.end(), [](const Json& each) {
    return each.value("type", "") == "Ready" && each.value("status", "") == "True";
  });
}

}  // namespace

std::optional<int> least_ready(const std::vector<WatchEvent>& pods, const std::string& app, int enough) {
  std::set<std::string> ready;
  std::optional<int> least;
  for (const WatchEvent& event : pods) {
    if (text_at(event.object, "/metadata/labels/app") != app) continue;
    const std::string uid = text_at(event.object, "/metadata/uid");
    if (event.type != "DELETED" && serves(event.object))
      ready.insert(uid);
    else
      ready.erase(uid);
    const int now = static_cast<int>(ready.size());
    if (least || now >= enough) least = std::min(least.value_or(now), now);
  }
  return least;
}

SlotReport count_slots(const std::vector<WatchEvent>& events, const std::map<std::string, Place>& places,
                       const SlotLimits& limits) {
  SlotReport report;
  std::map<std::string, Seen> state;
  for (const WatchEvent& event : events) {
    ++report.revisions;
    const std::string uid = text_at(event.object, "/metadata/uid");
    if (event.type == "DELETED") {
      state.erase(uid);
    } else {
      state[uid] = {text_at(event.object, "/metadata/namespace"), text_at(event.object, "/spec/podRef/name"),
                    text_at(event.object, "/status/phase")};
    }
    const Counts counts = count(state, places);
    judge("the cluster", counts.total, limits.total, report.most_total, report);
    for (const auto& [node, holders] : counts.node)
      judge("node " + node, holders, limits.per_node, report.most_per_node, report);
    for (const auto& [ns, holders] : counts.ns)
      judge("namespace " + ns, holders, limits.per_namespace, report.most_per_namespace, report);
    for (const auto& [name, holders] : counts.workload)
      judge("workload " + name, holders, limits.per_workload, report.most_per_workload, report);
  }
  return report;
}

std::map<std::string, int> grants_by_uid(const std::vector<PodCall>& calls) {
  std::map<std::string, int> grants;
  for (const PodCall& call : calls) {
    if (call.granted()) ++grants[call.uid];
  }
  return grants;
}

std::vector<std::string> unlike_evictions_of(const std::set<std::string>& uids, const std::vector<PodCall>& calls) {
  std::vector<std::string> found;
  std::set<std::string> evicted;
  for (const PodCall& call : calls) {
    if (call.granted() || (call.kind == PodCall::Kind::kEvict && call.cut_off)) evicted.insert(call.uid);
  }
  for (const std::string& uid : uids) {
    if (!evicted.contains(uid)) found.push_back("pod UID " + uid + " left without a granted eviction");
  }
  for (const auto& [uid, times] : grants_by_uid(calls)) {
    if (!uids.contains(uid)) found.push_back("pod UID " + uid + " was evicted, too");
  }
  return found;
}

std::vector<std::string> misdeeds(const std::vector<PodCall>& calls, const std::string& user) {
  std::vector<std::string> found;
  std::vector<PodCall> theirs;
  std::copy_if(calls.begin(), calls.end(), std::back_inserter(theirs),
               [&](const PodCall& call) { return call.user == user; });
  for (const PodCall& call : theirs) {
    const std::string pod = call.ns + "/" + call.pod;
    if (call.kind == PodCall::Kind::kDelete)
      found.push_back(pod + " was deleted (answer " + std::to_string(call.code) + ")");
    else if (call.uid.empty() && call.code != 404)
      found.push_back(pod + " was to be evicted without a UID precondition");
  }
  for (const auto& [uid, times] : grants_by_uid(theirs)) {
    if (times > 1) found.push_back("pod UID " + uid + " was granted " + std::to_string(times) + " evictions");
  }
  return found;
}

}  // namespace e2e
