#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "controllers/operator_config.hpp"
#include "simulator/api_server.hpp"

namespace soak {

/// Invariants I1–I17 of protocols 6.11, as an independent watcher sees them in the store. Those that only decide()'s
/// inputs can tell (I11, I14) are property tests of controllers/.
class Invariants {
 public:
  /// Hooks into the server's admission: call before any traffic.
  explicit Invariants(simulator::ApiServer& server);

  /// Looks at all that is stored now.
  void check();
  /// After everything has come to rest: nothing unfinished, nothing of ours left behind.
  void check_end();

  const std::vector<std::string>& violations() const { return violations_; }
  std::size_t finished() const { return ended_.size(); }
  const std::map<std::string, int>& endings() const { return endings_; }

 private:
  struct Known {
    std::string version;
    api::EvacuationPhase phase = api::EvacuationPhase::kPending;
    std::int32_t attempt = 0;
  };
  struct Holders {
    int total = 0;
    std::map<std::string, int> by_node;
    std::map<std::string, std::vector<std::string>> by_workload;  ///< whom, and where they stand
  };

  void violated(const std::string& what);
  std::optional<simulator::Denial> review(const simulator::AdmissionRequest& request);
  void check_eviction(const simulator::AdmissionRequest& request);
  void check_change(const api::Evacuation& evacuation);
  void check_terminal(const api::Evacuation& evacuation);
  void count(const api::Evacuation& evacuation, Holders& holders) const;
  void check_limits(const Holders& holders);
  void check_journal();
  void check_leftovers();

  simulator::ApiServer& server_;
  const controllers::OperatorConfig config_;
  std::map<std::string, Known> known_;  // by uid
  std::map<std::string, api::Evacuation> latest_;
  std::set<std::string> ended_;
  std::set<std::string> not_rolled_back_;  // uids
  std::map<std::string, int> endings_;     // "Succeeded/Evicted" → how many
  std::vector<std::string> violations_;
};

}  // namespace soak
