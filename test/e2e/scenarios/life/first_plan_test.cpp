// Time until the first plan: after the operator starts, and after a policy is applied to a running one.

#include <cstdio>

#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace first_plan_test {

using Clock = std::chrono::steady_clock;

class FirstPlan : public Scenario {
 protected:
  FirstPlan() { forget_leases(); }
  ~FirstPlan() override { forget_leases(); }

  double seconds_until_a_plan(Clock::time_point start) const {
    await("a plan in the policy's status", [&](std::string& seen) {
      seen = api().get(path::policies(ns())).value("status", Json()).dump();
      return !text_at(api().get(path::policies(ns())), "/status/lastCycle/id").empty();
    });
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  static void tell(const char* what, double seconds) {
    char text[80];
    std::snprintf(text, sizeof text, "%s: %.1f s", what, seconds);
    note(text);
  }

 private:
  /// Removes the leases of earlier scenarios, since a fresh cluster has none.
  void forget_leases() const {
    api().remove(path::leases("evacuator-system", "evacuator"));
    api().remove(path::leases("kube-system", "evacuator-operator"));
  }
};

/// The default settings of leader election.
TEST_F(FirstPlan, ComesWithinSecondsOfAFreshStart) {
  deploy({.ns = ns(), .name = "web", .replicas = 3});
  auto start = Clock::now();
  apply_policy(manifest::pod_life_time_policy(ns(), ns(), 1));
  Operator& op = start_operator({.leader_election = true,
                                 .lease_duration = std::chrono::seconds(15),
                                 .renew_deadline = std::chrono::seconds(10),
                                 .retry_period = std::chrono::seconds(2)},
                                false);
  const double fresh = seconds_until_a_plan(start);
  tell("policy and process to the first plan", fresh);
  EXPECT_LT(fresh, 30) << op.log_tail();

  api().remove(path::policies(ns()));
  await("the policy to be gone", [&](std::string&) { return !api().find(path::policies(ns())); });
  start = Clock::now();
  apply_policy(manifest::pod_life_time_policy(ns(), ns(), 1));
  const double warm = seconds_until_a_plan(start);
  tell("policy to its first plan, by an operator that runs", warm);
  EXPECT_LT(warm, 15) << op.log_tail();
}

}  // namespace first_plan_test
}  // namespace e2e
