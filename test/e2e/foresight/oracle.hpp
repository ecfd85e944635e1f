#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "test/e2e/harness/api.hpp"
#include "test/e2e/harness/environment.hpp"

namespace e2e {

/// Where a pod stands, as the suite itself saw it.
struct Place {
  std::string node;
  std::string workload;
};

/// Limits of Evacuations in flight; absent = none.
struct SlotLimits {
  std::optional<int> total{};
  std::optional<int> per_node{};
  std::optional<int> per_namespace{};
  std::optional<int> per_workload{};
};

struct SlotReport {
  int revisions = 0;
  int most_total = 0;
  int most_per_node = 0;
  int most_per_namespace = 0;
  int most_per_workload = 0;
  std::vector<std::string> violations;
};

/// Replays every revision of the Evacuations and counts the holders of slots after each: Preparing, Requesting,
/// InProgress, Evicting and Aborting everywhere, Verifying for its workload only. `places` is keyed "namespace/pod".
SlotReport count_slots(const std::vector<WatchEvent>& events, const std::map<std::string, Place>& places,
                       const SlotLimits& limits);

/// What must never be in the records of the server: two granted evictions of one pod, an eviction without UID
/// precondition, a pod deleted by `user`. One sentence each.
std::vector<std::string> misdeeds(const std::vector<PodCall>& calls, const std::string& user);

/// How the records differ from "each of these pods was evicted, and no other". A call that was cut off half way may
/// be the eviction of a pod that has no granted one. One sentence each.
std::vector<std::string> unlike_evictions_of(const std::set<std::string>& uids, const std::vector<PodCall>& calls);

/// The fewest pods of that app that were ready and not leaving after any revision, from the first on that showed
/// `enough` of them; nullopt: there never were so many.
std::optional<int> least_ready(const std::vector<WatchEvent>& pods, const std::string& app, int enough);

/// Granted evictions by pod UID.
std::map<std::string, int> grants_by_uid(const std::vector<PodCall>& calls);

}  // namespace e2e
