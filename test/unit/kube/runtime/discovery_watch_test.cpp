#include "kube/runtime/discovery_watch.hpp"

#include <gmock/gmock.h>

#include <map>

#include "test/unit/kube/fake_transport.hpp"

namespace kube {
namespace discovery_watch_test {

using testing::FakeTransport;
using ::testing::HasSubstr;
using testing::json_response;

constexpr const char* kPolicyV1 = R"({"resources":[{"name":"poddisruptionbudgets"}]})";

/// A server without policy/v1 that is upgraded while the client runs.
class DiscoveryWatchTest : public ::testing::Test {
 protected:
  DiscoveryWatchTest() {
    transport.answer = [this](const Request& request) -> base::Result<Response> {
      if (failure) return *failure;
      const auto at = documents.find(request.path);
      return at == documents.end() ? json_response(404, "404 page not found") : json_response(200, at->second);
    };
    known = *discover(client);
    watch.emplace(client, clock, known, base::Log());
  }
  std::optional<std::string> reconcile(base::Duration time) {
    clock.advance(time);
    return watch->step();
  }

  base::ManualClock clock{base::TimePoint(base::seconds(1'000'000))};
  FakeTransport transport;
  Client client{transport, nullptr};
  std::map<std::string, std::string> documents = {{"/version", R"({"gitVersion":"v1.20.2"})"}, {"/api/v1", "{}"}};
  std::optional<base::Error> failure;
  Discovery known;
  std::optional<DiscoveryWatch> watch;
};

TEST_F(DiscoveryWatchTest, TellsOfAnUpgradeOnceASecondLookShowsIt) {
  documents["/apis/policy/v1"] = kPolicyV1;
  EXPECT_EQ(reconcile(base::minutes(4)), std::nullopt) << "not yet time";
  EXPECT_EQ(reconcile(base::minutes(1)), std::nullopt) << "seen once";
  const auto change = reconcile(base::minutes(1));
  ASSERT_TRUE(change);
  EXPECT_THAT(*change, HasSubstr("PodDisruptionBudgets: policy/v1beta1 before, policy/v1 now"));
}

TEST_F(DiscoveryWatchTest, WaitsWhileServersOfBothVersionsAnswerInTurns) {
  for (int i = 0; i < 10; ++i) {
    documents["/apis/policy/v1"] = kPolicyV1;
    EXPECT_EQ(reconcile(base::minutes(5)), std::nullopt);
    documents.erase("/apis/policy/v1");
    EXPECT_EQ(reconcile(base::minutes(5)), std::nullopt);
  }
}

TEST_F(DiscoveryWatchTest, IgnoresAFailedCheckAndANewPatchVersion) {
  failure = base::unavailable("down");
  EXPECT_EQ(reconcile(base::minutes(5)), std::nullopt);
  EXPECT_EQ(reconcile(base::minutes(5)), std::nullopt);
  failure.reset();
  documents["/version"] = R"({"gitVersion":"v1.20.3"})";
  EXPECT_EQ(reconcile(base::minutes(5)), std::nullopt);
  EXPECT_EQ(reconcile(base::minutes(5)), std::nullopt);
}

TEST(RelevantChange, NamesResourcesWithAnotherVersion) {
  Discovery before;
  before.eviction_version = "v1";
  Discovery now = before;
  EXPECT_EQ(relevant_change(before, now), "");
  now.has_evacuations = true;
  now.server_version = "v1.99";
  EXPECT_EQ(relevant_change(before, now), "");
  now.resource_claims = kResourceClaims;
  now.has_native_evictions = true;
  EXPECT_EQ(
      relevant_change(before, now),
      "ResourceClaims: none before, resource.k8s.io/v1 now; the EvictionRequest API: not served before, served now");
}

}  // namespace discovery_watch_test
}  // namespace kube
