#include "controllers/policy/cycle.hpp"

#include <gtest/gtest.h>

namespace forbidden_test {

using api::EvacuationPhase;
using base::minutes;

const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");

struct Ended {
  const char* ns;
  const char* name;
  int minutes_ago;
  EvacuationPhase phase;
  const char* reason;
};

constexpr Ended forbidden(const char* ns, int ago) { return {ns, "a", ago, EvacuationPhase::kFailed, "Forbidden"}; }
constexpr Ended moved(const char* ns, int ago) { return {ns, "b", ago, EvacuationPhase::kSucceeded, "Evicted"}; }

struct Case {
  const char* name;
  std::vector<Ended> ended;
  std::vector<std::string> want;
};
class ForbiddenRow : public testing::TestWithParam<Case> {};

TEST_P(ForbiddenRow, NamesTheNamespaces) {
  std::vector<std::shared_ptr<const api::Evacuation>> all;
  for (const Ended& each : GetParam().ended) {
    auto made = std::make_shared<api::Evacuation>();
    made->meta.ns = each.ns;
    made->meta.name = each.name;
    made->status.phase = each.phase;
    made->status.reason = each.reason;
    made->status.message = "cannot create pods/eviction";
    made->status.finished_at = kNoon - minutes(each.minutes_ago);
    all.push_back(std::move(made));
  }
  std::vector<std::string> found;
  for (const auto& each : controllers::forbidden_namespaces(all, kNoon)) {
    found.push_back(each.ns);
    EXPECT_NE(each.problem.find("cannot create pods/eviction"), std::string::npos);
    EXPECT_NE(each.problem.find("config/rbac/operator_role.yaml"), std::string::npos);
  }
  EXPECT_EQ(found, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Forbidden, ForbiddenRow,
    testing::Values(Case{"NoneWithoutVerdicts", {}, {}}, Case{"OneOfLately", {forbidden("shop", 3)}, {"shop"}},
                    Case{"ByName", {forbidden("shop", 3), forbidden("bank", 5)}, {"bank", "shop"}},
                    Case{"NotForEver", {forbidden("shop", 10)}, {}},
                    Case{"NotOnceOneSucceeded", {forbidden("shop", 3), moved("shop", 1)}, {}},
                    Case{"AgainAfterASuccess", {forbidden("shop", 1), moved("shop", 3)}, {"shop"}},
                    Case{"OtherNamespacesAreTheirOwn", {forbidden("shop", 3), moved("bank", 1)}, {"shop"}},
                    Case{"OtherFailuresSayNothing",
                         {forbidden("shop", 3), {"shop", "c", 1, EvacuationPhase::kFailed, "BlockedTimeout"}},
                         {"shop"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace forbidden_test
