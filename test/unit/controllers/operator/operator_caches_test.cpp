#include "controllers/operator/operator_caches.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "test/unit/kube/fake_transport.hpp"

namespace controllers {
namespace operator_caches_test {

using kube::testing::FakeTransport;
using kube::testing::json_response;

const OperatorCaches::Named& named(const std::vector<OperatorCaches::Named>& all, std::string_view name) {
  return *std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
}

/// Lists of csinodes (optional for plans) and of nodes are forbidden from the start.
TEST(OperatorCaches, ForbiddenOptionalKindsReportNoAge) {
  base::ManualClock clock{base::TimePoint(base::seconds(1'000'000))};
  FakeTransport transport;
  transport.answer = [](const kube::Request& request) -> base::Result<kube::Response> {
    const bool refused = request.path.ends_with("/csinodes") || request.path.ends_with("/nodes");
    if (refused) return json_response(403, R"({"kind":"Status","message":"no"})");
    return json_response(200, R"({"kind":"List","metadata":{"resourceVersion":"7"},"items":[]})");
  };
  kube::Client client(transport, nullptr);
  OperatorCaches caches(client, clock, kube::Discovery{}, base::Log());
  for (int minute = 0; minute < 10; ++minute) {
    for (const auto& each : caches.all()) {
      while (each.reflector->poll()) {
      }
    }
    clock.advance(base::minutes(1));
  }
  const auto all = caches.all();
  EXPECT_LE(named(all, "pods").contact_age(), base::minutes(3));
  EXPECT_EQ(named(all, "csinodes").contact_age(), std::nullopt);
  EXPECT_GE(named(all, "nodes").contact_age(), base::minutes(10)) << "nothing works without nodes";
  EXPECT_TRUE(caches.stale().empty()) << "what was never filled is told by readiness";
}

}  // namespace operator_caches_test
}  // namespace controllers
