// End-to-end scenario 3: a PodDisruptionBudget blocks and is named with its numbers. The eviction follows immediately
// when the budget allows it.

#include <cstdio>

#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace budget_test {

class Budget : public Scenario {
 protected:
  std::string budgets() const {
    return "/apis/" + std::string(cluster().pdb_version()) + "/namespaces/" + ns() + "/poddisruptionbudgets";
  }

  std::optional<WallTime> granted_at(const std::string& uid) const {
    for (const PodCall& call : pod_calls()) {
      if (call.granted() && call.uid == uid) return call.at;
    }
    return std::nullopt;
  }
};

std::optional<WallTime> allowed_at(const Recorder& budgets) {
  for (const WatchEvent& event : budgets.events()) {
    if (number_at(event.object, "/status/disruptionsAllowed") >= 1) return event.at;
  }
  return std::nullopt;
}

TEST_F(Budget, BlocksByNameAndLetsGoAtOnce) {
  start_operator();
  const std::vector<PodInfo> pods = deploy({.ns = ns(), .name = "web", .replicas = 2});
  kubectl().apply(manifest::pod_disruption_budget(cluster().pdb_version(), ns(), "web", 2));
  await("the budget to count its pods", [&](std::string& seen) {
    const Json budget = api().get(budgets() + "/web-budget");
    seen = budget.dump();
    return number_at(budget, "/status/currentHealthy") == 2;
  });
  const Recorder watcher(api(), budgets());

  // Refused at least twice: a client that only polls would retry after ten seconds or more.
  const std::string name = evacuate(pods.at(0));
  const Json blocked = await("the Evacuation to be blocked twice", [&](std::string& seen) -> std::optional<Json> {
    Json now = evacuation(ns(), name);
    seen = now.value("status", Json()).dump();
    int refusals = 0;
    for (const PodCall& call : pod_calls()) refusals += call.kind == PodCall::Kind::kEvict && call.code == 429 ? 1 : 0;
    const std::string why = text_at(condition(now, "Progressing"), "/reason");
    if (refusals < 2 || (why != "PDBBlocked" && why != "PDBNeverAllows")) return std::nullopt;
    return now;
  });

  EXPECT_EQ(phase_of(blocked), "Requesting");
  EXPECT_EQ(text_at(condition(blocked, "Progressing"), "/status"), "False");
  const std::string message = text_at(condition(blocked, "Progressing"), "/message");
  EXPECT_NE(message.find("web-budget"), std::string::npos) << message;
  EXPECT_NE(message.find('2'), std::string::npos) << "the numbers are missing: " << message;
  const Json& blocker = blocked.at("status").at("blockedBy").at(0);
  EXPECT_EQ(text_at(blocker, "/kind"), "PodDisruptionBudget") << blocker.dump();
  EXPECT_EQ(text_at(blocker, "/name"), "web-budget") << blocker.dump();
  EXPECT_EQ(number_at(blocker, "/disruptionsAllowed", -1), 0) << blocker.dump();
  EXPECT_EQ(number_at(blocker, "/currentHealthy", -1), 2) << blocker.dump();
  EXPECT_EQ(number_at(blocker, "/desiredHealthy", -1), 2) << blocker.dump();
  const std::string table = kubectl()({"get", "evac", name, "-n", ns(), "-o", "wide"});
  EXPECT_NE(parse_table(table).at(0).at("BLOCKED-BY").find("web-budget"), std::string::npos) << table;
  EXPECT_TRUE(pod_uids(ns()).contains(pods.at(0).uid));

  kubectl()({"scale", "deployment/web", "-n", ns(), "--replicas=3"});
  const WallTime evicted = await("the eviction", [&](std::string&) { return granted_at(pods.at(0).uid); });
  const WallTime allowed = await("the budget to allow it", [&](std::string&) { return allowed_at(watcher); });
  await_phase(ns(), name, {"Succeeded"});

  const double delay = std::chrono::duration<double>(evicted - allowed).count();
  char figure[64];
  std::snprintf(figure, sizeof figure, "%.3f s", delay);
  note(std::string("the eviction followed ") + figure + " after the budget's status allowed it (aim: below 1 s)");
  EXPECT_LT(delay, 3.0);
  EXPECT_TRUE(evacuation(ns(), name).at("status").value("blockedBy", Json::array()).empty())
      << "it still claims to be blocked";
  expect_no_misdeeds();
}

}  // namespace budget_test
}  // namespace e2e
