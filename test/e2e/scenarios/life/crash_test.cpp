// End-to-end scenario 6: SIGKILL at random times during 50 evacuations. None is lost, none happens twice.

#include <algorithm>
#include <cstdlib>
#include <random>
#include <thread>

#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace crash_test {

constexpr int kWorkloads = 10;
constexpr int kReplicas = 5;
constexpr int kKills = 6;

class Crash : public Scenario {
 protected:
  int granted() const { return static_cast<int>(grants_by_uid(pod_calls()).size()); }
};

unsigned seed() {
  const char* given = std::getenv("EVACUATOR_E2E_SEED");
  return given != nullptr && *given != '\0' ? static_cast<unsigned>(std::strtoul(given, nullptr, 10))
                                            : std::random_device{}();
}

/// When to kill the operator: after this number of evictions and this delay.
struct Strike {
  int after_evictions = 0;
  std::chrono::milliseconds delay{};
};

std::vector<Strike> plan_strikes(unsigned chosen, int evictions) {
  std::mt19937 random(chosen);
  std::vector<Strike> strikes(kKills);
  for (Strike& strike : strikes) {
    strike.after_evictions = std::uniform_int_distribution<int>(1, evictions * 3 / 4)(random);
    strike.delay = std::chrono::milliseconds(std::uniform_int_distribution<int>(0, 250)(random));
  }
  std::sort(strikes.begin(), strikes.end(),
            [](const Strike& a, const Strike& b) { return a.after_evictions < b.after_evictions; });
  return strikes;
}

TEST_F(Crash, FiftyEvacuationsSurviveSigkill) {
  const unsigned chosen = seed();
  note("EVACUATOR_E2E_SEED=" + std::to_string(chosen));
  std::vector<PodInfo> pods;
  for (int i = 0; i < kWorkloads; ++i) {
    kubectl().apply(manifest::deployment({.ns = ns(), .name = "app-" + std::to_string(i), .replicas = kReplicas}));
  }
  for (int i = 0; i < kWorkloads; ++i) {
    for (PodInfo& pod : await_pods(ns(), "app-" + std::to_string(i), kReplicas)) pods.push_back(std::move(pod));
  }

  Operator& op = start_operator({.limits = "{total: 5, perNode: 4, perNamespace: 4, perWorkload: 4}"});
  for (const PodInfo& pod : pods) evacuate(pod);
  for (const Strike& strike : plan_strikes(chosen, static_cast<int>(pods.size()))) {
    await("the next moment to strike", [&](std::string& seen) {
      seen = std::to_string(granted()) + " evictions granted\n" + op.log_tail();
      if (!op.running()) throw Failure("the operator died by itself:\n" + op.log_tail());
      return granted() >= strike.after_evictions;
    });
    std::this_thread::sleep_for(strike.delay);  // a random time between two of its steps
    note("SIGKILL after " + std::to_string(granted()) + " evictions");
    op.kill();
    op.start();
  }
  EXPECT_LT(granted(), static_cast<int>(pods.size())) << "all was over before the last strike";

  const auto finished = await_finished(pods, std::chrono::seconds(180));
  EXPECT_EQ(finished.size(), pods.size());
  for (const auto& [name, each] : finished) EXPECT_EQ(phase_of(each), "Succeeded") << summary(each);
  expect_evicted(pods);
  for (int i = 0; i < kWorkloads; ++i) await_pods(ns(), "app-" + std::to_string(i), kReplicas);
  expect_no_misdeeds();
}

}  // namespace crash_test
}  // namespace e2e
