#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "test/unit/controllers/admission/queue_fixture.hpp"

/// The admission queue in random events.
namespace admission_queue_model_test {

using namespace admission_queue_fixture;

/// Checks I7 against a plain model: random events in random order, with operators that crash and lose their state.
class LimitModel : public testing::TestWithParam<unsigned> {
 protected:
  static constexpr int kWishes = 60;
  static constexpr int kInFlight = 5;
  static constexpr int kNodes = 6;  ///< even nodes are in zone-0, odd nodes in zone-1

  LimitModel() : random(GetParam()) {
    for (int i = 0; i < kWishes; ++i) {
      candidates.push_back({.n = i,
                            .node = fmt::format("node-{}", i % kNodes),
                            .workload = fmt::format("rs-{}", i % 7),
                            .priority = static_cast<std::int32_t>(random() % 3),
                            .policy = i % 3 ? "" : "p",
                            .target = i % 4 ? fmt::format("node-{}", (i + 1 + i / 9) % kNodes) : ""});
    }
    start_leader();
  }

  /// Discards slots that were granted but not stored. Evacuations, nodes and policies arrive in random order.
  void start_leader() {
    granted.clear();
    leader = std::make_unique<AdmissionQueue>(
        api::AdmissionLimits{{number(kInFlight), number(2), {}, number(1), number(2), number(3)},
                             api::RateLimit{{}, 120, 3}},
        clock, [](const api::ObjectKey&, base::Duration) {});
    leader->resume();
    const auto learn_nodes = [&] {
      for (int i = 0; i < kNodes; ++i) {
        leader->set_node(fmt::format("node-{}", i), NodeFacts{fmt::format("zone-{}", i % 2), 110});
      }
    };
    if (random() % 2) learn_nodes();
    for (const auto& [n, phase] : stored) show(n, phase);
    leader->set_policy_limits("p", {{limits(number(3), {}, {}, number(2))}});
    learn_nodes();
  }

  void show(int n, Phase phase) {
    const api::Evacuation now = object(candidates[static_cast<std::size_t>(n)], phase, 1);
    leader->observe(nullptr, &now);
  }
  void store(int n, Phase phase) {
    stored[n] = phase;
    show(n, phase);
  }

  void take_a_step() {
    const int n = static_cast<int>(random() % kWishes);
    const auto at = stored.find(n);
    clock.advance(std::chrono::milliseconds(random() % 400));
    if (random() % 500 == 0) return start_leader();
    if (at == stored.end()) {
      if (random() % 16 == 0) {
        leader->withdraw(object(candidates[static_cast<std::size_t>(n)]).meta.key());
        if (granted.erase(n)) std::erase(admissions, std::pair(n, admitted_at.at(n)));
      } else if (granted.contains(n) && random() % 2) {
        granted.erase(n);
        store(n, Phase::kPreparing);
      } else if (leader->request(request(candidates[static_cast<std::size_t>(n)])).slot.state ==
                 Slot::State::kGranted) {
        if (granted.insert(n).second) admissions.emplace_back(n, admitted_at[n] = clock.now());
      }
    } else if (at->second == Phase::kPreparing && random() % 2) {
      store(n, random() % 4 ? Phase::kEvicting : Phase::kRequesting);
    } else if (at->second != Phase::kVerifying && random() % 2) {
      store(n, Phase::kVerifying);
    } else if (random() % 2) {
      show(n, Phase::kSucceeded);
      stored.erase(at);
    }
  }

  void check_limits() const {
    std::map<std::string, int> nodes, workloads, targets, zones;
    int total = 0, policy = 0;
    const auto add = [&](int n, bool departing) {
      const Candidate& candidate = candidates[static_cast<std::size_t>(n)];
      total += departing;
      nodes[candidate.node] += departing;
      zones[fmt::format("zone-{}", n % kNodes % 2)] += departing;
      workloads[candidate.workload] += 1;
      if (!candidate.target.empty()) targets[candidate.target] += 1;
      policy += departing && candidate.policy == "p";
    };
    for (const auto& [n, phase] : stored) add(n, phase != Phase::kVerifying);
    for (const int n : granted) add(n, true);
    ASSERT_LE(total, 5);
    ASSERT_LE(policy, 2) << "the policy's namespace limit";
    for (const auto& [name, count] : nodes) ASSERT_LE(count, 2) << name;
    for (const auto& [name, count] : zones) ASSERT_LE(count, 3) << name;
    for (const auto& [name, count] : targets) ASSERT_LE(count, 2) << name;
    for (const auto& [name, count] : workloads) ASSERT_LE(count, 1) << name;
    ASSERT_LE(leader->usage().in_flight, 5);
    // The rate is 2 per second with a burst of 3. An Evacuation that an event admits learns it at its next request, so
    // up to kInFlight admissions may show up at once.
    const std::size_t many = std::min<std::size_t>(admissions.size(), 60);
    if (many == 0) return;
    const auto span = admissions.back().second - admissions[admissions.size() - many].second;
    ASSERT_LE(static_cast<std::int64_t>(many), kInFlight + 3 + span / std::chrono::milliseconds(500));
  }

  base::ManualClock clock{kNoon};
  std::mt19937 random;
  std::vector<Candidate> candidates;
  std::vector<std::pair<int, base::TimePoint>> admissions;
  std::map<int, base::TimePoint> admitted_at;
  std::map<int, Phase> stored;  ///< state that every later leader reads
  std::set<int> granted;        ///< reported to this leader's workers, not stored yet
  std::unique_ptr<AdmissionQueue> leader;
};

TEST_P(LimitModel, NeverExceedsALimitWhateverHappens) {
  for (int step = 0; step < 5'000; ++step) {
    take_a_step();
    ASSERT_NO_FATAL_FAILURE(check_limits()) << "step " << step;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, LimitModel, testing::Range(1U, 9U));

}  // namespace admission_queue_model_test
