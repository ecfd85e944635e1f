// End-to-end scenario 2: a PodLifeTime policy plans in DryRun and changes nothing. In Automatic it moves the pods and
// counts them.

#include <algorithm>

#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace policy_test {

constexpr int kReplicas = 3;
constexpr int kOld = 10;  // seconds

class Policy : public Scenario {
 protected:
  Json policy() const { return api().get(path::policies(ns())); }

  std::set<std::string> planned() const {
    std::set<std::string> uids;
    const Json now = policy();
    const Json::json_pointer plan("/status/plan");
    if (now.contains(plan)) {
      for (const Json& move : now.at(plan)) uids.insert(text_at(move, "/uid"));
    }
    return uids;
  }

  // Waits for two cycles with a plan of exactly these pods, so that one of them started with the plan already
  // published.
  void await_plan(const std::set<std::string>& uids) const {
    std::set<std::string> cycles;
    await("two cycles with a plan of all old pods", [&](std::string& seen) {
      seen = policy().value("status", Json()).dump();
      if (planned() == uids) cycles.insert(text_at(policy(), "/status/lastCycle/id"));
      return cycles.size() >= 2;
    });
  }

  int succeeded() const {
    const auto all = api().list(path::evacuations(ns()));
    return static_cast<int>(
        std::count_if(all.begin(), all.end(), [](const Json& each) { return phase_of(each) == "Succeeded"; }));
  }
};

std::set<std::string> uids_of(const std::vector<PodInfo>& pods) {
  std::set<std::string> uids;
  for (const PodInfo& pod : pods) uids.insert(pod.uid);
  return uids;
}

TEST_F(Policy, DryRunPlansAndAutomaticMoves) {
  start_operator();
  const std::vector<PodInfo> old_pods = deploy({.ns = ns(), .name = "web", .replicas = kReplicas});
  const std::set<std::string> old_uids = uids_of(old_pods);

  // DryRun: only a plan.
  apply_policy(manifest::pod_life_time_policy(ns(), ns(), kOld));
  await_plan(old_uids);
  EXPECT_TRUE(api().list(path::evacuations(ns())).empty());
  EXPECT_EQ(pod_uids(ns()), old_uids);
  EXPECT_TRUE(pod_calls().empty());
  EXPECT_EQ(text_at(condition(policy(), "Ready"), "/status"), "True") << policy().at("status").dump(2);

  // Automatic: Evacuations, moves, replacements.
  kubectl()({"patch", "dsp", ns(), "--type=merge", "-p", R"({"spec":{"mode":"Automatic"}})"});
  await("the old pods to be gone", [&](std::string& seen) {
    const auto now = pod_uids(ns());
    seen = std::to_string(succeeded()) + " Evacuations succeeded; " + text_at(policy(), "/status");
    return std::none_of(old_uids.begin(), old_uids.end(), [&](const std::string& uid) { return now.contains(uid); });
  });
  for (const Json& each : api().list(path::evacuations(ns()))) {
    const std::string uid = text_at(each, "/spec/podRef/uid");
    EXPECT_EQ(text_at(each, "/metadata/labels/evacuator.dev~1policy"), ns());
    EXPECT_EQ(text_at(each, "/spec/source/strategy"), "PodLifeTime");
    EXPECT_EQ(text_at(each, "/metadata/name"), text_at(each, "/spec/podRef/name") + "-" + uid.substr(0, 8));
  }

  // Suspended: no new cycles start, running ones end, the counts are consistent.
  kubectl()({"patch", "dsp", ns(), "--type=merge", "-p", R"({"spec":{"suspend":true}})"});
  const Json settled = await("the policy to settle", [&](std::string& seen) -> std::optional<Json> {
    Json now = policy();
    seen = now.at("status").dump();
    const bool suspended = text_at(condition(now, "Suspended"), "/status") == "True";
    const auto all = api().list(path::evacuations(ns()));
    const bool finished =
        std::all_of(all.begin(), all.end(), [](const Json& e) { return kFinished.contains(phase_of(e)); });
    if (!suspended || !finished || number_at(now, "/status/active") != 0) return std::nullopt;
    if (number_at(now, "/status/evicted") != succeeded()) return std::nullopt;
    return now;
  });
  await_pods(ns(), "web", kReplicas);

  const auto grants = grants_by_uid(pod_calls());
  for (const PodInfo& pod : old_pods)
    EXPECT_EQ(grants.count(pod.uid), 1U) << pod.name << " left without a granted eviction";
  EXPECT_GE(number_at(settled, "/status/evicted"), kReplicas);
  EXPECT_EQ(number_at(settled, "/status/evicted"), static_cast<std::int64_t>(grants.size()));
  const Row row = parse_table(kubectl()({"get", "dsp", ns()})).at(0);
  EXPECT_EQ(row.at("EVICTED"), text_at(settled, "/status/evicted"));
  EXPECT_EQ(row.at("MODE"), "Automatic");
  expect_no_misdeeds();
}

TEST_F(Policy, ManualWaitsForAPerson) {
  start_operator();
  const PodInfo pod = deploy({.ns = ns(), .name = "web", .replicas = 1}).at(0);
  apply_policy(manifest::pod_life_time_policy(ns(), ns(), 1, {{"mode", "Manual"}}));
  const std::string name = await("an Evacuation", [&](std::string&) -> std::optional<std::string> {
    const auto all = api().list(path::evacuations(ns()));
    if (all.empty()) return std::nullopt;
    return text_at(all.front(), "/metadata/name");
  });
  // Two more cycles have no effect.
  std::set<std::string> cycles;
  await("two more cycles", [&](std::string&) {
    cycles.insert(text_at(policy(), "/status/lastCycle/id"));
    return cycles.size() >= 3;
  });
  EXPECT_EQ(phase_of(evacuation(ns(), name)), "Pending");
  EXPECT_EQ(api().list(path::evacuations(ns())).size(), 1U);
  EXPECT_TRUE(pod_calls().empty());

  kubectl()({"patch", "evac", name, "-n", ns(), "--type=merge", "-p", R"({"spec":{"suspend":false}})"});
  await_phase(ns(), name, {"Succeeded"});
  EXPECT_FALSE(pod_uids(ns()).contains(pod.uid)) << "it has neither ended nor gone";
  expect_evicted({pod});
  expect_no_misdeeds();
}

}  // namespace policy_test
}  // namespace e2e
