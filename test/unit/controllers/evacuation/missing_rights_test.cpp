#include "controllers/evacuation/missing_rights.hpp"

#include <gtest/gtest.h>

namespace missing_rights_test {

using base::seconds;
using controllers::evacuation::MissingRights;

kube::Request post(const std::string& path) {
  kube::Request request;
  request.method = "POST";
  request.path = path;
  return request;
}

const kube::Request kOne = post("/api/v1/namespaces/shop/pods/web-1/eviction");
const kube::Request kTwo = post("/api/v1/namespaces/shop/pods/web-2/eviction");
const kube::Request kElsewhere = post("/api/v1/namespaces/bank/pods/web-1/eviction");
const base::TimePoint kStart{seconds(1000)};

TEST(MissingRights, MayPassInTheFirstSecondsOfAServer) {
  MissingRights rights;
  EXPECT_TRUE(rights.refused(kOne, kStart));
  EXPECT_TRUE(rights.refused(kTwo, kStart + seconds(19)));
  EXPECT_FALSE(rights.refused(kTwo, kStart + seconds(20))) << "a right is given for a kind, not for an object";
  EXPECT_TRUE(rights.refused(kElsewhere, kStart + seconds(20))) << "roles are bound by namespace";
}

TEST(MissingRights, ADifferentAnswerResetsThem) {
  MissingRights rights;
  EXPECT_TRUE(rights.refused(kOne, kStart));
  rights.answered(kTwo);
  EXPECT_TRUE(rights.refused(kOne, kStart + seconds(30)));
}

/// Patroni's objects: every reconcile reads SCOPE, and every read of SCOPE-failover is refused.
TEST(MissingRights, OfAReadDependOnItsObject) {
  const auto get = [](const std::string& name) {
    kube::Request request = post("/api/v1/namespaces/shop/endpoints/" + name);
    request.method = "GET";
    return request;
  };
  MissingRights rights;
  for (int second = 0; second <= 20; second += 5) {
    rights.answered(get("db"));
    EXPECT_EQ(rights.refused(get("db-failover"), kStart + seconds(second)), second < 20) << second;
  }
}

TEST(MissingRights, AnOldRefusalIsIgnored) {
  MissingRights rights;
  EXPECT_TRUE(rights.refused(kOne, kStart));
  EXPECT_TRUE(rights.refused(kOne, kStart + base::minutes(6)));
}

TEST(MissingRights, HoldsABoundedNumberOfKinds) {
  MissingRights rights;
  for (int i = 0; i < 10'000; ++i)
    EXPECT_TRUE(rights.refused(post("/api/v1/namespaces/n" + std::to_string(i) + "/pods"), kStart));
}

}  // namespace missing_rights_test
