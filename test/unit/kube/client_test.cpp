#include "kube/client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "fake_transport.hpp"
#include "kube/rate_limiter.hpp"

namespace kube {
namespace client_test {

using base::ErrorCode;
using ::testing::ElementsAre;
using testing::FakeTransport;
using ::testing::HasSubstr;
using testing::json_response;

std::string page(const std::vector<std::string>& names, const std::string& token) {
  api::Json items = api::Json::array();
  for (const std::string& name : names) items.push_back({{"metadata", {{"name", name}}}});
  return api::Json({{"apiVersion", "v1"},
                    {"kind", "PodList"},
                    {"items", items},
                    {"metadata", {{"resourceVersion", "42"}, {"continue", token}}}})
      .dump();
}

struct Collected {
  std::vector<std::string> names;
  base::Status operator()(std::string_view item) {
    names.push_back(api::Json::parse(item)["metadata"]["name"]);
    return base::Done{};
  }
};

TEST(ClientList, ReadsAllPages) {
  FakeTransport transport;
  transport.answer = [](const Request& request) -> base::Result<Response> {
    if (request.query.find("continue=t1") != std::string::npos) return json_response(200, page({"c"}, ""));
    return json_response(200, page({"a", "b"}, "t1"));
  };
  Client client(transport, nullptr);
  Collected got;
  const auto meta = client.list(kPods, {}, std::ref(got));
  ASSERT_TRUE(meta) << meta.error().message;
  EXPECT_THAT(got.names, ElementsAre("a", "b", "c"));
  EXPECT_EQ(meta->resource_version, "42");
  EXPECT_THAT(transport.targets(), ElementsAre("/api/v1/pods?limit=500", "/api/v1/pods?limit=500&continue=t1"));
}

TEST(ClientList, EndsAsGoneWhenTheTokenExpiresHalfWay) {
  FakeTransport transport;
  transport.answer = [](const Request& request) -> base::Result<Response> {
    if (request.query.find("continue") != std::string::npos)
      return json_response(410, R"({"kind":"Status","reason":"Expired","code":410,"message":"the token is too old"})");
    return json_response(200, page({"a"}, "t1"));
  };
  Client client(transport, nullptr);
  Collected got;
  const auto meta = client.list(kPods, {}, std::ref(got));
  ASSERT_FALSE(meta);
  EXPECT_EQ(meta.error().code, ErrorCode::kGone);
}

TEST(ClientList, DoesNotFollowAnEndlessToken) {
  FakeTransport transport;
  transport.answer = [](const Request&) -> base::Result<Response> { return json_response(200, page({"a"}, "t1")); };
  Client client(transport, nullptr);
  Collected got;
  EXPECT_FALSE(client.list(kPods, {}, std::ref(got)));
  EXPECT_EQ(transport.requests().size(), 2u);
}

TEST(ClientList, StopsWhenTheReaderHasEnough) {
  FakeTransport transport;
  transport.answer = [](const Request&) -> base::Result<Response> { return json_response(200, page({"a", "b"}, "t")); };
  Client client(transport, nullptr);
  int seen = 0;
  const auto meta = client.list(kPods, {}, [&](std::string_view) -> base::Status {
    ++seen;
    return base::Error{ErrorCode::kCancelled, "enough"};
  });
  ASSERT_FALSE(meta);
  EXPECT_EQ(meta.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(seen, 1);
}

struct LieCase {
  const char* name;
  Response response;
};
class ClientLieTest : public ::testing::TestWithParam<LieCase> {};

TEST_P(ClientLieTest, IsAnErrorAndNoCrash) {
  FakeTransport transport;
  transport.answer = [](const Request&) -> base::Result<Response> { return GetParam().response; };
  Client client(transport, nullptr);
  Collected got;
  EXPECT_FALSE(client.list(kPods, {}, [](std::string_view) -> base::Status { return base::Done{}; }));
}

INSTANTIATE_TEST_SUITE_P(Client, ClientLieTest,
                         ::testing::Values(LieCase{"Truncated",
                                                   {200, R"({"items":[{"metadata":{)", {}, "application/json"}},
                                           LieCase{"Empty", {200, "", {}, "application/json"}},
                                           LieCase{"Html", {200, "<html/>", {}, "text/html"}},
                                           LieCase{"Array", {200, "[1,2]", {}, "application/json"}},
                                           LieCase{"Forbidden", {403, "", {}, ""}}),
                         [](const auto& test) { return test.param.name; });

TEST(Client, NamesVerbAndPathInErrors) {
  FakeTransport transport;
  transport.answer = [](const Request&) -> base::Result<Response> {
    return json_response(403, R"({"kind":"Status","message":"pods is forbidden: no RBAC"})");
  };
  Client client(transport, nullptr);
  const auto got = client.get(kPods, {"shop", "web"});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kForbidden);
  EXPECT_EQ(got.error().message, "GET /api/v1/namespaces/shop/pods/web: pods is forbidden: no RBAC");
}

TEST(Client, TreatsOnlyA404ThatNamesTheObjectAsNotFound) {
  FakeTransport transport;
  Response answer = testing::not_found("web");
  transport.answer = [&](const Request&) -> base::Result<Response> { return answer; };
  Client client(transport, nullptr);
  EXPECT_EQ(client.get(kPods, {"shop", "web"}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(client.remove(kPods, {"shop", "web"}, "u").error().code, ErrorCode::kNotFound);
  answer = {404, "404 page not found", {}, "text/plain"};
  EXPECT_EQ(client.get(kPods, {"shop", "web"}).error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(client.get(kPods, {"shop", "web"}).error().message,
              HasSubstr("does not report that \"web\" does not exist"));
  EXPECT_EQ(client.call(list_request(kPods, {})).error().code, ErrorCode::kNotFound) << "the kind is not served";
}

TEST(Client, ChangesNothingOnceItMayNotAlthoughItsTurnHasCome) {
  FakeTransport transport;
  transport.answer = [](const Request&) -> base::Result<Response> { return json_response(200, "{}"); };
  const base::ManualClock clock{base::TimePoint(base::seconds(1'000'000))};
  RateLimiter limiter(clock, {});
  bool leads = true;
  Client client(transport, &limiter, [&] {
    EXPECT_EQ(limiter.stats().in_flight, 1U) << "asked after the wait for the turn, not before";
    return leads;
  });
  EXPECT_TRUE(client.create(kEvacuations, "shop", {}));
  leads = false;
  EXPECT_EQ(client.create(kEvacuations, "shop", {}).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(client.send(eviction_request({"a", "b"}, {.uid = "u"}, "v1")).error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(client.get(kPods, {"shop", "web"})) << "a standby reads";
  EXPECT_EQ(transport.requests().size(), 2U);
}

TEST(Client, LimitsTheTimeoutToItsFence) {
  FakeTransport transport;
  transport.answer = [](const Request&) -> base::Result<Response> { return json_response(200, "{}"); };
  Client client(transport, nullptr);
  const Request request = eviction_request({"a", "b"}, {.uid = "u"}, "v1");
  ASSERT_TRUE(client.send(request, [] { return base::milliseconds(1500); }));
  EXPECT_EQ(transport.requests().back().timeout, base::milliseconds(1500));
  ASSERT_TRUE(client.send(request, [] { return base::milliseconds(100'000); }));
  EXPECT_EQ(transport.requests().back().timeout, request.timeout) << "it only shortens";
  const auto late = client.send(request, [] { return base::Error{ErrorCode::kTimeout, "too late"}; });
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(transport.requests().size(), 2U);
}

TEST(Client, SendReturnsAnyAnswerUnchanged) {
  FakeTransport transport;
  transport.answer = [](const Request&) -> base::Result<Response> { return json_response(429, "x"); };
  Client client(transport, nullptr);
  const auto got = client.send(eviction_request({"a", "b"}, {.uid = "u"}, "v1"));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 429);
}

TEST(Client, SendsEveryVerb) {
  FakeTransport transport;
  transport.answer = [](const Request&) -> base::Result<Response> { return json_response(200, "{}"); };
  Client client(transport, nullptr);
  EXPECT_TRUE(client.get(kPods, {"a", "b"}));
  EXPECT_TRUE(client.create(kEvacuations, "a", {}));
  EXPECT_TRUE(client.update(kEvacuations, {"a", "b"}, {}, "status"));
  EXPECT_TRUE(client.patch(kPods, {"a", "b"}, PatchType::kMerge, {}));
  EXPECT_TRUE(client.remove(kEvacuations, {"a", "b"}, "u"));
  EXPECT_TRUE(client.watch(kPods, {}, base::seconds(5)));
  std::vector<std::string> methods;
  for (const Request& each : transport.requests()) methods.push_back(each.method);
  EXPECT_THAT(methods, ElementsAre("GET", "POST", "PUT", "PATCH", "DELETE", "GET"));
}

TEST(Client, ReleasesItsSlotAfterEachRequest) {
  base::ManualClock clock{base::TimePoint{}};
  RateLimiter limiter(clock, {.qps = 1000, .burst = 1000, .max_in_flight = 4});
  FakeTransport transport;
  transport.answer = [&](const Request&) -> base::Result<Response> {
    EXPECT_EQ(limiter.stats().in_flight, 1u);
    return json_response(200, "{}");
  };
  Client client(transport, &limiter);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(client.get(kPods, {"a", "b"}));
  EXPECT_TRUE(client.watch(kPods, {}, base::seconds(5)));
  EXPECT_EQ(limiter.stats().in_flight, 0u) << "a running watch holds no slot";
}

TEST(Client, IsCancelledWithItsLimiter) {
  base::ManualClock clock{base::TimePoint{}};
  RateLimiter limiter(clock, {});
  limiter.shut_down();
  FakeTransport transport;
  Client client(transport, &limiter);
  EXPECT_EQ(client.get(kPods, {"a", "b"}).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(client.watch(kPods, {}, base::seconds(5)).error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(transport.requests().empty());
}

// --- discovery

using Documents = std::map<std::string, std::string>;

base::Result<Discovery> discover_from(const Documents& documents) {
  FakeTransport transport;
  transport.answer = [&](const Request& request) -> base::Result<Response> {
    const auto at = documents.find(request.target());
    return at == documents.end() ? json_response(404, "404 page not found") : json_response(200, at->second);
  };
  Client client(transport, nullptr);
  return discover(client);
}

TEST(Discover, FindsAnOldServer) {
  const auto got = discover_from(
      {{"/version", R"({"gitVersion":"v1.20.2"})"},
       {"/api/v1",
        R"({"resources":[{"name":"pods"},{"name":"pods/eviction","group":"policy","version":"v1beta1"}]})"}});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->server_version, "v1.20.2");
  EXPECT_EQ(got->eviction_version, "v1beta1");
  EXPECT_EQ(got->pdbs, kPdbsV1beta1);
  EXPECT_FALSE(got->has_evacuations);
  EXPECT_FALSE(got->has_policies);
  EXPECT_FALSE(got->has_native_evictions);
  EXPECT_FALSE(got->resource_claims);
}

TEST(Discover, FindsTheNewestVersionOfResourceClaims) {
  const char* const kClaims = R"({"resources":[{"name":"resourceclaims"}]})";
  Documents documents = {{"/version", "{}"}, {"/api/v1", "{}"}, {"/apis/resource.k8s.io/v1beta1", kClaims}};
  EXPECT_EQ(discover_from(documents)->resource_claims, kResourceClaimsV1beta1);
  documents["/apis/resource.k8s.io/v1"] = kClaims;
  EXPECT_EQ(discover_from(documents)->resource_claims, kResourceClaims);
}

TEST(Discover, FindsANewServerWithOurKinds) {
  const auto got = discover_from(
      {{"/version", R"({"gitVersion":"v1.32.0"})"},
       {"/api/v1", R"({"resources":[{"name":"pods/eviction","group":"policy","version":"v1"}]})"},
       {"/apis/policy/v1", R"({"resources":[{"name":"poddisruptionbudgets"}]})"},
       {"/apis/evacuator.dev/v1alpha1", R"({"resources":[{"name":"evacuations"},{"name":"deschedulerpolicies"}]})"},
       {"/apis/lifecycle.k8s.io/v1alpha1", R"({"resources":[{"name":"evictionrequests"},{"name":"evictions"}]})"}});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(got->has_native_evictions);
  EXPECT_EQ(got->eviction_version, "v1");
  EXPECT_EQ(got->pdbs, kPdbs);
  EXPECT_TRUE(got->has_evacuations);
  EXPECT_TRUE(got->has_policies);
}

TEST(Discover, OfServer1_21KeepsBothVersionsApart) {  // PDBs are v1 already, Eviction is still v1beta1
  const auto got =
      discover_from({{"/version", R"({"gitVersion":"v1.21.0"})"},
                     {"/api/v1", R"({"resources":[{"name":"pods/eviction","group":"policy","version":"v1beta1"}]})"},
                     {"/apis/policy/v1", R"({"resources":[{"name":"poddisruptionbudgets"}]})"}});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->eviction_version, "v1beta1");
  EXPECT_EQ(got->pdbs, kPdbs);
}

TEST(Discover, SurvivesWrongTypes) {
  for (const char* lie :
       {R"({"resources":7})", R"({"resources":[7,null,{"name":[]}]})", R"({})", R"({"resources":null})"}) {
    const auto got = discover_from({{"/version", lie}, {"/api/v1", lie}, {"/apis/policy/v1", lie}});
    ASSERT_TRUE(got) << lie;
    EXPECT_EQ(got->pdbs, kPdbsV1beta1);
  }
}

TEST(Discover, RefusesAServerThatIsNoApiServer) {
  EXPECT_FALSE(discover_from({{"/version", "hello"}}));
  EXPECT_THAT(discover_from({{"/version", "[]"}}).error().message, HasSubstr("is this a Kubernetes API server?"));
}

TEST(Discover, PassesFailuresOn) {
  FakeTransport transport;
  transport.answer = [](const Request&) -> base::Result<Response> { return base::unavailable("connection refused"); };
  Client client(transport, nullptr);
  const auto got = discover(client);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message, HasSubstr("connection refused"));
}

}  // namespace client_test
}  // namespace kube
