#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "api/evacuation.hpp"
#include "controllers/operator/operator_config.hpp"
#include "simulator/api/server.hpp"
#include "test/soak/decoded.hpp"
#include "test/soak/replica.hpp"
#include "test/soak/watches/call_watch.hpp"
#include "test/soak/watches/placement_watch.hpp"
#include "test/soak/watches/pod_group_watch.hpp"
#include "test/soak/watches/policy_watch.hpp"

namespace soak {

/// Checks invariants I1–I17 and the guarantees of PodGroups, hints and policies, independently of the operator, in the
/// store and in its requests.
class Invariants {
 public:
  explicit Invariants(simulator::ApiServer& server);

  /// Checks the stored objects that have changed since the last call.
  void check();
  /// Checks new pods. `is_current`: see PlacementWatch.
  void look_at_pods(bool is_current);
  CallWatch& calls() { return calls_; }
  PolicyWatch& policies() { return policies_; }
  /// Records the replica count that a user has set.
  void expect_replicas(const api::ObjectKey& deployment, std::int64_t wanted) { replicas_[deployment] = wanted; }
  /// Call at the end: everything must be finished, and no leftovers may exist.
  void check_end();

  /// Records a violation.
  void violated(const std::string& what);

  const std::vector<std::string>& violations() const { return violations_; }
  std::size_t finished() const { return ended_.size(); }
  const std::map<std::string, int>& endings() const { return endings_; }

 private:
  struct KnownState {
    api::EvacuationPhase phase = api::EvacuationPhase::kPending;
    std::int32_t attempt = 0;
    bool stuck = false;              ///< whether a rollback was incomplete
    bool left_without_slot = false;  ///< whether its pod left by other means while it waited, without admission (T0c)
    std::set<std::string> conditions{};  ///< "<type>/<reason>" of conditions that are True
  };
  struct Holders {
    int total = 0;
    int manual = 0;  ///< manual ones among them
    std::map<std::string, int> by_node;
    std::map<std::string, int> by_namespace;
    /// Holders and the nodes of their pods. A PodGroup counts as one.
    std::map<std::string, std::map<std::string, std::string>> by_workload;
  };

  std::vector<std::string> adopt(const std::vector<simulator::Object>& stored);
  void check_change(const api::Evacuation& evacuation);
  void check_words(const api::Evacuation& evacuation, const KnownState& before);
  void check_stuck(const api::Evacuation& evacuation, KnownState& known);
  void check_terminal(const api::Evacuation& evacuation);
  void count(const api::Evacuation& evacuation, Holders& holders) const;
  void check_limits(const Holders& holders);
  void check_targets(const std::vector<simulator::Object>& stored);
  void check_journal();
  void check_leftovers();
  std::string told(const std::string& uid) const;
  void check_replicas();
  void check_requests();
  void check_jobs();
  void check_databases();
  void check_turns();

  simulator::ApiServer& server_;
  Decoded<api::Evacuation> evacuations_;
  std::unordered_set<const api::Json*> checked_;  ///< versions in evacuations_ that were checked
  std::uint64_t checked_at_ = 0;                  ///< revision of the store at the last check()
  std::uint64_t looked_at_ = 0;                   ///< revision of the store at the last look_at_pods()
  const controllers::OperatorConfig config_ = operator_config();
  std::map<std::string, KnownState> known_;  // by UID
  std::map<std::string, api::Evacuation> latest_;
  std::set<std::string> ended_;
  std::set<std::string> not_rolled_back_;  // UIDs
  std::map<std::string, int> endings_;     // number of endings such as "Succeeded/Evicted" and "HintTaken"
  std::map<api::ObjectKey, std::int64_t> replicas_;
  std::vector<std::string> violations_;
  CallWatch calls_;
  PodGroupWatch pod_groups_;
  PlacementWatch placements_;
  PolicyWatch policies_;
};

}  // namespace soak
