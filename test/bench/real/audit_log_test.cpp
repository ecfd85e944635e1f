#include "test/bench/real/audit_log.hpp"

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>

namespace audit_log_test {

using bench::call_of;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string kAdmin = R"("user":{"username":"admin"},"userAgent":"evacuator/dev")";
const std::string kEviction =
    R"("objectRef":{"resource":"pods","namespace":"default","name":"p","subresource":"eviction"})";

std::string line(const std::string& who, const std::string& what, const std::string& more = "") {
  return R"({"kind":"Event","stage":"ResponseComplete","verb":"create",)" + who + "," + what +
         R"(,"requestReceivedTimestamp":"2026-11-21T12:00:00.250000Z","stageTimestamp":"2026-11-21T12:00:01.000000Z")" +
         more + "}";
}

TEST(AuditLog, ContainsRequestTimeAndAnswer) {
  const auto call = call_of(line(kAdmin, kEviction, R"(,"responseStatus":{"code":201})"));
  ASSERT_TRUE(call);
  EXPECT_EQ(call->verb, "create");
  EXPECT_EQ(call->resource, "pods/eviction");
  EXPECT_EQ(call->code, 201);
  EXPECT_DOUBLE_EQ(call->answered - call->received, 0.75);
  EXPECT_TRUE(bench::is_of_evictions(*call));
}

TEST(AuditLog, OmitsRequestsOfTheServerAndOfTheBenchmark) {
  EXPECT_FALSE(call_of(line(R"("user":{"username":"system:apiserver"},"userAgent":"kube-apiserver")", kEviction)));
  EXPECT_FALSE(call_of(line(R"("user":{"username":"admin"},"userAgent":"evacuator-bench/1")", kEviction)));
  EXPECT_FALSE(call_of(line(R"("user":{"username":"admin"},"userAgent":"kubectl/v1.36")", kEviction)));
  EXPECT_TRUE(call_of(
      line(R"("user":{"username":"system:serviceaccount:evacuator-system:evacuator"},"userAgent":"x")", kEviction)));
}

TEST(AuditLog, OmitsUnfinishedAndOtherRequests) {
  std::string received = line(kAdmin, kEviction);
  received.replace(received.find("ResponseComplete"), 16, "RequestReceived");
  for (const std::string& each : {received, line(kAdmin, R"("requestURI":"/version")"), std::string("{\"stage\":"),
                                  std::string("[]"), std::string("7"), std::string()}) {
    EXPECT_FALSE(call_of(each)) << each;
  }
}

TEST(AuditLog, SurvivesFieldsOfAnotherKind) {
  const auto call = call_of(R"({"stage":"ResponseComplete","verb":7,"user":"admin","objectRef":{"resource":[]},
                                "responseStatus":{"code":"x"},"requestReceivedTimestamp":"yesterday"})");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->verb + call->resource, "");
  EXPECT_EQ(call->code, 0);
  EXPECT_EQ(call->received, 0);
}

TEST(AuditLog, CountsOnlyRequestsOfEvictions) {
  const auto is_counted = [](const char* verb, const char* resource) {
    return bench::is_of_evictions({0, 0, verb, resource, 200});
  };
  EXPECT_TRUE(is_counted("get", "pods"));
  EXPECT_TRUE(is_counted("patch", "evacuations/status"));
  EXPECT_TRUE(is_counted("create", "events"));
  EXPECT_FALSE(is_counted("list", "pods"));
  EXPECT_FALSE(is_counted("watch", "evacuations"));
  EXPECT_FALSE(is_counted("update", "leases"));
  EXPECT_FALSE(is_counted("patch", "deschedulerpolicies/status"));
}

TEST(AuditLog, IsReadInWholeLinesFromAnOffset) {
  const std::string path = testing::TempDir() + "audit_log_test.log";
  std::ofstream file(path, std::ios::trunc);
  file << "old\nfirst\nsec" << std::flush;
  bench::Tail tail(path, 4);
  EXPECT_THAT(tail.lines(), ElementsAre("first"));
  EXPECT_THAT(tail.lines(), IsEmpty());
  file << "ond\nthird\n" << std::flush;
  EXPECT_THAT(tail.lines(), ElementsAre("second", "third"));
  std::remove(path.c_str());
}

}  // namespace audit_log_test
