#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "api/json/json.hpp"
#include "kube/transport.hpp"
#include "simulator/api/request_info.hpp"
#include "simulator/api/server.hpp"

namespace soak {

/// What policies promise: behind a gate that holds nothing new begins, a wave spends no budget further than it allows,
/// soft taints go with their policy's last move, and nodes keep whatever else they bear. By the store and the wire.
class PolicyWatch {
 public:
  using Report = std::function<void(const std::string&)>;
  /// Since when the replica that leads knows that a gate of the policy holds; nullopt: it does not.
  using HeldSince = std::function<std::optional<base::TimePoint>(const std::string& policy)>;

  /// `server` outlives it.
  PolicyWatch(simulator::ApiServer& server, Report report) : server_(server), report_(std::move(report)) {}

  void ask_gates_with(HeldSince held_since) { held_since_ = std::move(held_since); }
  /// A replica is about to look at what is stored. `is_current`: it will see all of it.
  void before_step(bool is_current);
  /// Right before a call of ours reaches the API server, and right after.
  void before(const kube::Request& request);
  void after();
  /// Another attempt of it has begun.
  void check_begun(const api::Evacuation& evacuation);
  /// A person taints that node, or takes the taint away.
  void expect_taint(const std::string& node, bool is_there) { taints_[node] = is_there; }
  static api::Json foreign_taint();
  /// Plans in waves whose budgets were looked at.
  int waves() const { return waves_; }
  /// When all policies are suspended and everything has come to rest.
  void check_end();

 private:
  void check_creation(const api::Json& evacuation);
  void check_plan(const std::string& policy, const api::Json& status);
  void check_wave(const api::Json& status);

  simulator::ApiServer& server_;
  const Report report_;
  HeldSince held_since_;
  bool is_current_ = false;
  int waves_ = 0;
  std::uint64_t looked_at_ = 0;                    ///< revision of the store
  std::vector<api::PodDisruptionBudget> budgets_;  ///< as they were before the step
  std::map<std::string, std::string> cycles_;      ///< id of the last one, by policy
  struct Call {
    const kube::ResourceType* type;
    std::string name;
    simulator::Object before;
  };
  std::optional<Call> call_;            ///< about a node or a policy
  std::map<std::string, bool> taints_;  ///< by node
};

}  // namespace soak
