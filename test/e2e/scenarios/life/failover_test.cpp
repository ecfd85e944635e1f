// End-to-end scenario 7: two replicas. The leader is stopped, the next one is killed. Each time another one takes over
// and finishes.

#include <cstdio>

#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace failover_test {

constexpr int kReplicas = 10;

class Failover : public Scenario {
 protected:
  Failover() { api().remove(path::leases("evacuator-system", "evacuator")); }
  ~Failover() override { api().remove(path::leases("evacuator-system", "evacuator")); }

  std::string holder() const {
    const auto lease = api().find(path::leases("evacuator-system", "evacuator"));
    return lease ? text_at(*lease, "/spec/holderIdentity") : std::string();
  }

  /// Waits until one of `candidates` leads and returns it.
  Operator& await_leader(const std::vector<Operator*>& candidates) const {
    return *await("a new leader", [&](std::string& seen) -> std::optional<Operator*> {
      seen = "the lease is held by '" + holder() + "'";
      for (Operator* each : candidates) {
        if (holder() == each->identity()) return each;
      }
      return std::nullopt;
    });
  }

  int finished() const {
    int count = 0;
    for (const Json& each : api().list(path::evacuations(ns()))) count += kFinished.contains(phase_of(each)) ? 1 : 0;
    return count;
  }
  void await_progress(int at_least) const {
    await(std::to_string(at_least) + " finished Evacuations", [&](std::string& seen) {
      seen = std::to_string(finished());
      return finished() >= at_least;
    });
  }
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string figure(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", value);
  return text;
}

TEST_F(Failover, AnotherReplicaTakesOverAndFinishes) {
  const Operator::Settings base{.leader_election = true, .limits = "{total: 3, perNode: 2, perWorkload: 1}"};
  const auto settings = [&](const std::string& identity) {
    Operator::Settings mine = base;
    mine.identity = identity;
    return mine;
  };
  std::vector<PodInfo> pods;
  for (const char* name : {"left", "right"}) {
    for (PodInfo& pod : deploy({.ns = ns(), .name = name, .replicas = kReplicas})) pods.push_back(std::move(pod));
  }
  const Recorder watcher(api(), path::all_evacuations());
  Operator& a = start_operator(settings("replica-a"));
  Operator& b = start_operator(settings("replica-b"));
  Operator& first = await_leader({&a, &b});
  Operator& second = &first == &a ? b : a;
  for (const PodInfo& pod : pods) evacuate(pod);
  await_progress(2);

  // A stopped leader releases the lease, so the other one need not wait for its expiry.
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(first.terminate(), 0) << first.log_tail();
  EXPECT_EQ(&await_leader({&second}), &second);
  const double handover = seconds_since(start);
  note("takeover " + figure(handover) + " after SIGTERM to the leader (lease " + figure(6) + ")");
  EXPECT_LT(handover, 5.0) << "the lease was not released";

  // A killed leader does not release the lease. A third replica takes it after its expiry, not before.
  Operator& third = start_operator(settings("replica-c"));
  await_progress(finished() + 2);
  start = std::chrono::steady_clock::now();
  second.kill();
  EXPECT_EQ(&await_leader({&third}), &third);
  const double takeover = seconds_since(start);
  note("takeover " + figure(takeover) + " after SIGKILL to the leader (lease " + figure(6) + ")");
  EXPECT_GT(takeover, 2.0) << "the lease was taken while its holder could still act";
  EXPECT_LT(takeover, 20.0);

  const auto all = await_finished(pods, std::chrono::seconds(150));
  for (const auto& [name, each] : all) EXPECT_EQ(phase_of(each), "Succeeded") << summary(each);
  const SlotReport report =
      count_slots(watcher.events(), places_of(pods), {.total = 2, .per_node = 2, .per_workload = 1});
  for (const std::string& violation : report.violations) ADD_FAILURE() << violation;
  expect_evicted(pods);
  expect_no_misdeeds();
}

}  // namespace failover_test
}  // namespace e2e
