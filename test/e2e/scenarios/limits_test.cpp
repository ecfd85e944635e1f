// End-to-end scenario 5: in-flight limits are never exceeded, according to an independent watcher of every revision.

#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace limits_test {

class Limits : public Scenario {};

TEST_F(Limits, AreNeverExceeded) {
  // One slot of a total of 5 is reserved for policies.
  const SlotLimits limits{.total = 4, .per_node = 2, .per_namespace = 3, .per_workload = 1};
  const std::vector<std::string> spaces{ns(), another_namespace()};
  std::vector<PodInfo> pods;
  for (const std::string& space : spaces) {
    for (const char* name : {"red", "green", "blue", "black"}) {
      kubectl().apply(manifest::deployment({.ns = space, .name = name, .replicas = 3}));
    }
  }
  for (const std::string& space : spaces) {
    for (const char* name : {"red", "green", "blue", "black"}) {
      for (PodInfo& pod : await_pods(space, name, 3)) pods.push_back(std::move(pod));
    }
  }
  const Recorder watcher(api(), path::all_evacuations());

  start_operator({.limits = "{total: 5, perNode: 2, perNamespace: 3, perWorkload: 1}"});
  for (const PodInfo& pod : pods) evacuate(pod);
  const auto finished = await_finished(pods, std::chrono::seconds(150));

  for (const auto& [name, each] : finished) EXPECT_EQ(phase_of(each), "Succeeded") << summary(each);
  const SlotReport report = count_slots(watcher.events(), places_of(pods), limits);
  EXPECT_EQ(watcher.gaps(), 0) << "the watcher missed revisions";
  for (const std::string& violation : report.violations) ADD_FAILURE() << violation;
  EXPECT_EQ(report.most_total, 4) << "the limit was never reached, so nothing was tested";
  EXPECT_EQ(report.most_per_workload, 1);
  note("most slots held at once in " + std::to_string(report.revisions) +
       " revisions: " + std::to_string(report.most_total) + " in the cluster, " + std::to_string(report.most_per_node) +
       " on a node, " + std::to_string(report.most_per_namespace) + " in a namespace, " +
       std::to_string(report.most_per_workload) + " of a workload");
  expect_no_misdeeds();
}

}  // namespace limits_test
}  // namespace e2e
