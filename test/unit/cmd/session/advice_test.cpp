#include "cmd/session/advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/builders/cluster.hpp"

namespace cmd::plugin {
namespace plugin_advice_test {

using base::ErrorCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string told(ErrorCode code, const std::string& message, const Attempt& attempt) {
  return advise({code, message}, attempt, "https://10.0.0.1:6443", "context \"prod\" of /home/a/.kube/config");
}

TEST(Advice, SaysInstallTheKindsWhenTheServerHasNone) {
  const Attempt attempt{"list", kube::kEvacuations, {"shop", ""}};
  EXPECT_THAT(told(ErrorCode::kNotFound, "the server could not find the requested resource", attempt),
              AllOf(StartsWith("Error from server (NotFound): "), HasSubstr("kubectl apply -k config/crd")));
  EXPECT_THAT(told(ErrorCode::kNotFound, "404 page not found", attempt), HasSubstr("config/crd"));
}

TEST(Advice, KeepsAMissingObjectApart) {
  const Attempt attempt{"get", kube::kEvacuations, {"shop", "x"}};
  EXPECT_THAT(told(ErrorCode::kNotFound, "evacuations.evacuator.dev \"x\" not found", attempt),
              Not(HasSubstr("config/crd")));
}

TEST(Advice, PointsToTheNamespaceThatIsMissing) {
  EXPECT_THAT(told(ErrorCode::kNotFound, "namespaces \"shpo\" not found", {"create", kube::kEvacuations, {"shpo", ""}}),
              HasSubstr("kubectl get namespaces"));
}

TEST(Advice, NamesTheRightThatIsMissingAndWhoHasIt) {
  EXPECT_THAT(
      told(ErrorCode::kForbidden, "no", {"create", kube::kEvacuations, {"shop", ""}}),
      AllOf(StartsWith("Error from server (Forbidden): no"),
            HasSubstr("\"create\" on evacuations.evacuator.dev in namespace shop"), HasSubstr("evacuator-edit")));
  EXPECT_THAT(told(ErrorCode::kForbidden, "no", {"patch", kube::kNodes, {"", "n"}}),
              AllOf(HasSubstr("nodes in the whole cluster"), HasSubstr("evacuator-operator-user-edit")));
  EXPECT_THAT(told(ErrorCode::kForbidden, "no", {"list", kube::kEvacuations, {}}),
              AllOf(HasSubstr("evacuator-view"), HasSubstr("kubectl auth can-i list evacuations.evacuator.dev -A")));
}

TEST(Advice, SaysWhereItAsked) {
  EXPECT_THAT(told(ErrorCode::kUnavailable, "connection refused", {"get", kube::kNodes, {"", "n"}}),
              AllOf(StartsWith("Unable to get nodes: connection refused"), HasSubstr("https://10.0.0.1:6443"),
                    HasSubstr("context \"prod\"")));
  EXPECT_THAT(told(ErrorCode::kUnauthorized, "Unauthorized", {"get", kube::kNodes, {"", "n"}}), HasSubstr("log in"));
}

TEST(OtherNames, PutsAlikeOnesFirstAndEndsSomewhere) {
  EXPECT_EQ(other_names("x", {}), "");
  EXPECT_EQ(other_names("worker", {"b", "a", "worker-1"}), "There are: worker-1, a, b");
  EXPECT_THAT(other_names("q", std::vector<std::string>(12, "n")), testing::EndsWith("and 4 more"));
}

struct LeaseCase {
  const char* name;
  base::Result<kube::LeaseRecord> lease;
  const char* want;  ///< part of the warning, empty for none
};

kube::LeaseRecord lease(const std::string& holder, base::TimePoint renewed) {
  return {holder, base::seconds(15), base::format_micro_time(renewed), 0, "1"};
}

TEST(OperatorWarning, IsReadOffTheLease) {
  constexpr const char* kNone = "";
  constexpr const char* kStale = "has not renewed its Lease";
  constexpr const char* kAbsent = "no operator holds the Lease";
  const base::TimePoint now = builders::kNoon;
  const base::Error missing{ErrorCode::kNotFound, "no"};
  const base::Error forbidden{ErrorCode::kForbidden, "no"};
  for (const LeaseCase& c : {LeaseCase{"fresh", lease("a", now - base::seconds(5)), kNone},
                             LeaseCase{"a clock that is off by a minute", lease("a", now + base::seconds(50)), kNone},
                             LeaseCase{"late", lease("a", now - base::seconds(59)), kNone},
                             LeaseCase{"stale", lease("a", now - base::seconds(61)), kStale},
                             LeaseCase{"given back", lease("", now), kAbsent}, LeaseCase{"none", missing, kAbsent},
                             LeaseCase{"not ours to see", forbidden, kNone},
                             LeaseCase{"nonsense", kube::LeaseRecord{"a", base::seconds(15), "soon", 0, "1"}, kNone}}) {
    const std::string warning = operator_warning(c.lease, {"evacuator-system", "evacuator"}, now);
    EXPECT_THAT(warning, HasSubstr(c.want)) << c.name;
    EXPECT_EQ(warning.empty(), std::string(c.want).empty()) << c.name;
  }
}

TEST(OperatorWarning, NamesTheLeaseAndTheAge) {
  const base::TimePoint now = builders::kNoon;
  const base::Result<kube::LeaseRecord> old = lease("pod-7", now - base::minutes(10));
  EXPECT_THAT(operator_warning(old, {"evacuator-system", "evacuator"}, now),
              AllOf(HasSubstr("pod-7"), HasSubstr("evacuator-system/evacuator"), HasSubstr("10m")));
}

}  // namespace plugin_advice_test
}  // namespace cmd::plugin
