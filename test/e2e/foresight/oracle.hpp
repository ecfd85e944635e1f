#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "test/e2e/harness/api.hpp"
#include "test/e2e/harness/environment.hpp"

namespace e2e {

/// Node and workload of a pod, as observed by the suite.
struct Place {
  std::string node;
  std::string workload;
};

/// Limits of Evacuations in flight; nullopt for no limit.
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
/// InProgress, Evicting and Aborting for all limits, Verifying for its workload only. `places` is keyed by
/// "namespace/pod".
SlotReport count_slots(const std::vector<WatchEvent>& events, const std::map<std::string, Place>& places,
                       const SlotLimits& limits);

/// Returns forbidden calls in the server's records, one sentence each: two granted evictions of one pod, an eviction
/// without UID precondition, a pod deleted by `user`.
std::vector<std::string> misdeeds(const std::vector<PodCall>& calls, const std::string& user);

/// Returns the differences between the records and "each of these pods was evicted, and no other", one sentence each. A
/// call that was cut off may be the eviction of a pod that has no granted one.
std::vector<std::string> unlike_evictions_of(const std::set<std::string>& uids, const std::vector<PodCall>& calls);

/// Returns the minimum number of pods of the app that were ready and not terminating after any revision, from the first
/// one with `enough` of them on. Returns nullopt if there was no such revision.
std::optional<int> least_ready(const std::vector<WatchEvent>& pods, const std::string& app, int enough);

/// Returns the number of granted evictions by pod UID.
std::map<std::string, int> grants_by_uid(const std::vector<PodCall>& calls);

}  // namespace e2e
