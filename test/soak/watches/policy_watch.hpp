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

/// Checks the guarantees of policies: no Evacuation begins while a gate holds, a wave stays within each budget, soft
/// taints disappear with the policy's last move, and nodes keep all other taints. Uses the store and the requests.
class PolicyWatch {
 public:
  using Report = std::function<void(const std::string&)>;
  /// Returns the time since which the leading replica knows that a gate of the policy holds, nullopt if none.
  using HeldSince = std::function<std::optional<base::TimePoint>(const std::string& policy)>;

  /// `server` must outlive the object.
  PolicyWatch(simulator::ApiServer& server, Report report) : server_(server), report_(std::move(report)) {}

  void ask_gates_with(HeldSince held_since) { held_since_ = std::move(held_since); }
  /// Call before a replica reads the stored state. `is_current` means that it will see all of it.
  void before_step(bool is_current);
  /// Call before() and after() around each call of the operator to the API server.
  void before(const kube::Request& request);
  void after();
  /// Call when another attempt of the Evacuation has begun.
  void check_begun(const api::Evacuation& evacuation);
  /// Records that a user has added or removed the foreign taint of the node.
  void expect_taint(const std::string& node, bool is_there) { taints_[node] = is_there; }
  static api::Json foreign_taint();
  /// Returns the number of plans in waves whose budgets were checked.
  int waves() const { return waves_; }
  /// Call when all policies are suspended and all Evacuations have ended.
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
  std::vector<api::PodDisruptionBudget> budgets_;  ///< state before the step
  std::map<std::string, std::string> cycles_;      ///< ID of the last cycle by policy
  struct Call {
    const kube::ResourceType* type;
    std::string name;
    simulator::Object before;
  };
  std::optional<Call> call_;            ///< call that concerns a node or a policy
  std::map<std::string, bool> taints_;  ///< by node
};

}  // namespace soak
