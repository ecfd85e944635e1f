#include "planner/strategies/spread/state.hpp"

#include <gmock/gmock.h>

#include <numeric>

namespace strategies {
namespace spread_state_test {

using scheduling::Topology;

/// One node per domain, with `pods[i]` pods on node i.
class OneRule {
 public:
  OneRule(std::int32_t max_skew, std::optional<std::int32_t> min_domains, const std::vector<int>& pods) {
    constraint_.max_skew = max_skew;
    constraint_.min_domains = min_domains;
    topology_.domain_of.resize(pods.size());
    std::iota(topology_.domain_of.begin(), topology_.domain_of.end(), 0U);
    domains_.topology = &topology_;
    domains_.includes.assign(pods.size(), true);
    for (std::uint32_t node = 0; node < pods.size(); ++node) {
      domains_.nodes.push_back({node});
      domains_.open.push_back(node);
    }
    state_.emplace(rule_, domains_);
    for (std::uint32_t node = 0; node < pods.size(); ++node) {
      for (int i = 0; i < pods[node]; ++i) state_->add(node);
    }
    state_->seal();
  }

  SpreadState& state() { return *state_; }

 private:
  api::TopologySpreadConstraint constraint_;
  api::Pod owner_;
  Topology topology_;
  SpreadDomains domains_;
  SpreadRule rule_{&constraint_, &owner_, {}};
  std::optional<SpreadState> state_;
};

struct ExcessCase {
  std::string name;
  std::int32_t max_skew;
  std::optional<std::int32_t> min_domains;
  std::vector<int> pods;  ///< By domain
  std::int64_t want;
};

class Excess : public testing::TestWithParam<ExcessCase> {};

TEST_P(Excess, CountsPodsAboveTheLimit) {
  const auto& c = GetParam();
  OneRule rule(c.max_skew, c.min_domains, c.pods);
  EXPECT_EQ(rule.state().excess(), c.want);
}

INSTANTIATE_TEST_SUITE_P(Domains, Excess,
                         testing::Values(ExcessCase{"NoDomain", 1, {}, {}, 0}, ExcessCase{"OneDomain", 1, {}, {5}, 0},
                                         ExcessCase{"WithinTheSkew", 1, {}, {2, 1}, 0},
                                         ExcessCase{"OneAbove", 1, {}, {3, 1}, 1},
                                         ExcessCase{"SeveralAbove", 1, {}, {4, 4, 1}, 4},
                                         ExcessCase{"AWiderSkew", 2, {}, {4, 4, 1}, 2},
                                         ExcessCase{"AnEmptyDomain", 1, {}, {3, 0}, 2},
                                         ExcessCase{"TooFewDomainsCountAsAnEmptyOne", 1, 3, {2, 2}, 2},
                                         ExcessCase{"EnoughDomains", 1, 2, {2, 2}, 0}),
                         [](const auto& test) { return test.param.name; });

struct MoveCase {
  std::string name;
  std::uint32_t from;
  std::uint32_t to;
  std::int64_t want;  ///< Excess after the move. Before it, domain 0 has 3 pods, domain 1 has 1, domain 2 has none.
};

class ExcessAfter : public testing::TestWithParam<MoveCase> {};

TEST_P(ExcessAfter, IsTheExcessAfterAMove) {
  OneRule rule(1, {}, {3, 1, 0});
  rule.state().move(GetParam().from, GetParam().to);
  EXPECT_EQ(rule.state().excess(), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Moves, ExcessAfter,
                         testing::Values(MoveCase{"ToTheEmptiest", 0, 2, 0}, MoveCase{"ToAnother", 0, 1, 2},
                                         MoveCase{"ToItself", 0, 0, 2},
                                         MoveCase{"ToNowhereThatCounts", 0, Topology::kNone, 1},
                                         MoveCase{"FromNowhereThatCounts", Topology::kNone, 2, 1},
                                         MoveCase{"TheWrongWay", 1, 0, 3}),
                         [](const auto& test) { return test.param.name; });

TEST(SpreadState, ReportsItsLimit) {
  OneRule rule(1, {}, {3, 0, 5, 1});
  EXPECT_EQ(rule.state().limit(), 1);
}

}  // namespace spread_state_test
}  // namespace strategies
