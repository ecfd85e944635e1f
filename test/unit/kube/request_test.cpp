#include "kube/request.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kube/escape.hpp"

namespace kube {
namespace request_test {

using api::Json;

struct PathCase {
  const char* name;
  ResourceType type;
  api::ObjectKey key;
  std::string_view subresource;
  const char* want;
};

class PathTest : public ::testing::TestWithParam<PathCase> {};

TEST_P(PathTest, MatchesTheServer) {
  const PathCase& c = GetParam();
  EXPECT_EQ(path_of(c.type, c.key, c.subresource), c.want);
}

INSTANTIATE_TEST_SUITE_P(
    Kube, PathTest,
    ::testing::Values(
        PathCase{"CoreObject", kPods, {"shop", "web-1"}, "", "/api/v1/namespaces/shop/pods/web-1"},
        PathCase{"CoreCollection", kPods, {"shop", ""}, "", "/api/v1/namespaces/shop/pods"},
        PathCase{"AllNamespaces", kPods, {"", ""}, "", "/api/v1/pods"},
        PathCase{"Subresource", kPods, {"shop", "web-1"}, "eviction", "/api/v1/namespaces/shop/pods/web-1/eviction"},
        PathCase{"ClusterScoped", kNodes, {"", "n1"}, "", "/api/v1/nodes/n1"},
        PathCase{"ClusterScopedIgnoresNamespace", kNodes, {"shop", "n1"}, "", "/api/v1/nodes/n1"},
        PathCase{"GroupObject", kPdbs, {"shop", "web"}, "", "/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web"},
        PathCase{"OldPdb", kPdbsV1beta1, {"", ""}, "", "/apis/policy/v1beta1/poddisruptionbudgets"},
        PathCase{"OwnKindStatus",
                 kEvacuations,
                 {"shop", "web-1-ab"},
                 "status",
                 "/apis/evacuator.dev/v1alpha1/namespaces/shop/evacuations/web-1-ab/status"},
        PathCase{"OwnClusterKind", kPolicies, {"", "p"}, "", "/apis/evacuator.dev/v1alpha1/deschedulerpolicies/p"},
        PathCase{"Lease", kLeases, {"ns", "l"}, "", "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"},
        PathCase{"EncodesHostileName", kPods, {"a/b", "x?y#z %"}, "", "/api/v1/namespaces/a%2Fb/pods/x%3Fy%23z%20%25"},
        PathCase{"CannotClimb", kPods, {"..", "."}, "", "/api/v1/namespaces/%2E%2E/pods/%2E"},
        PathCase{"KeepsDotsInNames",
                 kNodes,
                 {"", "ip-10-0-0-1.ec2.internal"},
                 "",
                 "/api/v1/nodes/ip-10-0-0-1.ec2.internal"}),
    [](const auto& test) { return test.param.name; });

TEST(Escape, EncodesAllBytesButTheUnreserved) {
  EXPECT_EQ(escape("aZ0-._~"), "aZ0-._~");
  EXPECT_EQ(escape("a=b,c in (d)&\xC3\xA9"), "a%3Db%2Cc%20in%20%28d%29%26%C3%A9");
  EXPECT_EQ(escape(std::string_view("\0\xff", 2)), "%00%FF");
}

TEST(GetRequest, ReadsOneObject) {
  Request want;
  want.path = "/api/v1/namespaces/shop/pods/web-1";
  want.flow = Flow::kRead;
  EXPECT_EQ(get_request(kPods, {"shop", "web-1"}), want);
  EXPECT_EQ(want.method, "GET");
  EXPECT_EQ(want.accept, "application/json");
}

TEST(GetRequest, OfALeaseHasTheLeaseFlow) { EXPECT_EQ(get_request(kLeases, {"a", "b"}).flow, Flow::kLease); }

TEST(ListRequest, RequestsPages) {
  ListOptions options;
  options.ns = "shop";
  options.label_selector = "app in (web,api)";
  options.field_selector = "spec.nodeName=n1";
  options.resource_version = "0";
  const Request got = list_request(kPods, options);
  EXPECT_EQ(got.target(),
            "/api/v1/namespaces/shop/pods?labelSelector=app%20in%20%28web%2Capi%29&fieldSelector=spec.nodeName%3Dn1"
            "&limit=500&resourceVersion=0");
  EXPECT_EQ(got.flow, Flow::kList);
}

TEST(ListRequest, OmitsTheVersionWithAContinueToken) {
  ListOptions options;
  options.resource_version = "0";
  options.continue_token = "a/+=";
  EXPECT_EQ(list_request(kPods, options).target(), "/api/v1/pods?limit=500&continue=a%2F%2B%3D");
}

TEST(ListRequest, WithoutLimitRequestsAll) {
  ListOptions options;
  options.limit = 0;
  EXPECT_EQ(list_request(kNodes, options).target(), "/api/v1/nodes");
}

TEST(ListRequest, RequestsProtobufIfTheReaderSupportsIt) {
  ListOptions options;
  EXPECT_EQ(list_request(kPods, options).accept, "application/json");
  EXPECT_EQ(watch_request(kPods, options, base::seconds(1)).accept, "application/json");
  options.protobuf = true;
  EXPECT_EQ(list_request(kPods, options).accept, "application/vnd.kubernetes.protobuf,application/json");
  EXPECT_EQ(watch_request(kPods, options, base::seconds(1)).accept,
            "application/vnd.kubernetes.protobuf;stream=watch,application/json");
}

TEST(WatchRequest, RequestsBookmarks) {
  ListOptions options;
  options.resource_version = "123";
  options.label_selector = "a=b";
  const Request got = watch_request(kPods, options, base::seconds(300));
  EXPECT_EQ(
      got.target(),
      "/api/v1/pods?labelSelector=a%3Db&watch=true&allowWatchBookmarks=true&resourceVersion=123&timeoutSeconds=300");
  EXPECT_EQ(got.method, "GET");
}

TEST(WatchRequest, RequestsInitialEventsIfConfigured) {
  ListOptions options;
  EXPECT_EQ(watch_request(kPods, options, base::seconds(300)).flow, Flow::kRead);
  options.send_initial_events = true;
  const Request got = watch_request(kPods, options, base::seconds(300));
  EXPECT_EQ(got.target(),
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&"
            "resourceVersionMatch=NotOlderThan&timeoutSeconds=300");
  EXPECT_EQ(got.flow, Flow::kList) << "in the lane of lists";
}

TEST(CreateRequest, PostsToTheCollection) {
  const Request got = create_request(kEvacuations, "shop", {{"kind", "Evacuation"}});
  EXPECT_EQ(got.method, "POST");
  EXPECT_EQ(got.target(), "/apis/evacuator.dev/v1alpha1/namespaces/shop/evacuations");
  EXPECT_EQ(got.content_type, "application/json");
  EXPECT_EQ(got.body, R"({"kind":"Evacuation"})");
  EXPECT_EQ(got.flow, Flow::kWrite);
}

TEST(CreateRequest, SurvivesInvalidUtf8) {
  EXPECT_EQ(create_request(kEvents, "shop",
                           {{"note",
                             "a\xff"
                             "b"}})
                .body,
            "{\"note\":\"a\xEF\xBF\xBD"
            "b\"}");
}

TEST(UpdateRequest, PutsTheSubresource) {
  const Request got = update_request(kEvacuations, {"shop", "e"}, {{"a", 1}}, "status");
  EXPECT_EQ(got.method, "PUT");
  EXPECT_EQ(got.target(), "/apis/evacuator.dev/v1alpha1/namespaces/shop/evacuations/e/status");
  EXPECT_EQ(update_request(kLeases, {"a", "b"}, {}).flow, Flow::kLease);
}

struct PatchCase {
  const char* name;
  PatchType kind;
  bool force;
  const char* content_type;
  const char* query;
};
class PatchTest : public ::testing::TestWithParam<PatchCase> {};

TEST_P(PatchTest, UsesItsContentType) {
  const PatchCase& c = GetParam();
  const Request got = patch_request(kPods, {"shop", "web-1"}, c.kind, {{"a", 1}}, {}, c.force);
  EXPECT_EQ(got.method, "PATCH");
  EXPECT_EQ(got.path, "/api/v1/namespaces/shop/pods/web-1");
  EXPECT_EQ(got.content_type, c.content_type);
  EXPECT_EQ(got.query, c.query);
}

INSTANTIATE_TEST_SUITE_P(
    Kube, PatchTest,
    ::testing::Values(PatchCase{"Merge", PatchType::kMerge, false, "application/merge-patch+json", ""},
                      PatchCase{"Json", PatchType::kJson, true, "application/json-patch+json", ""},
                      PatchCase{"Apply", PatchType::kApply, false, "application/apply-patch+yaml",
                                "fieldManager=evacuator"},
                      PatchCase{"ForcedApply", PatchType::kApply, true, "application/apply-patch+yaml",
                                "fieldManager=evacuator&force=true"}),
    [](const auto& test) { return test.param.name; });

TEST(DeleteRequest, CarriesTheUidAsPrecondition) {
  const Request got = delete_request(kEvacuations, {"shop", "e"}, "u-1");
  EXPECT_EQ(got.method, "DELETE");
  EXPECT_EQ(Json::parse(got.body),
            Json({{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", {{"uid", "u-1"}}}}));
}

TEST(DeleteRequest, WithoutUidHasNoBody) {
  const Request got = delete_request(kEvacuations, {"shop", "e"}, "");
  EXPECT_EQ(got.body, "");
  EXPECT_EQ(got.content_type, "");
}

TEST(EvictionRequest, NamesThePodAndItsUid) {
  EvictionOptions options;
  options.uid = "u-1";
  const Request got = eviction_request({"shop", "web-1"}, options, "v1");
  EXPECT_EQ(got.method, "POST");
  EXPECT_EQ(got.target(), "/api/v1/namespaces/shop/pods/web-1/eviction");
  EXPECT_EQ(got.flow, Flow::kEviction);
  EXPECT_EQ(got.body, R"({"apiVersion":"policy/v1","deleteOptions":{"preconditions":{"uid":"u-1"}},"kind":"Eviction",)"
                      R"("metadata":{"name":"web-1","namespace":"shop"}})");
}

TEST(EvictionRequest, SupportsV1beta1) {
  EXPECT_EQ(Json::parse(eviction_request({"a", "b"}, {.uid = "u"}, "v1beta1").body)["apiVersion"], "policy/v1beta1");
}

TEST(EvictionRequest, CarriesAllOptions) {
  EvictionOptions options{"u-1", "77", 30, {{"evacuator.dev/requested-by", "x"}}, true};
  const Request got = eviction_request({"shop", "web-1"}, options, "v1");
  const Json body = Json::parse(got.body);
  EXPECT_EQ(body["deleteOptions"],
            Json({{"preconditions", {{"uid", "u-1"}, {"resourceVersion", "77"}}}, {"gracePeriodSeconds", 30}}));
  EXPECT_EQ(body["metadata"]["annotations"], Json({{"evacuator.dev/requested-by", "x"}}));
  EXPECT_EQ(got.query, "dryRun=All");
  EXPECT_FALSE(body["deleteOptions"].contains("dryRun")) << "webhooks would not see a dry run that is only in the body";
}

TEST(EvictionRequest, OutlivesTheSlowestAnswerOfTheServer) {
  // 10 s webhook + 20 conflict retries of 500 ms, wire-protocols.md#eviction-answers.
  EXPECT_GE(eviction_request({"a", "b"}, {.uid = "u"}, "v1").timeout, base::seconds(30));
}

}  // namespace request_test
}  // namespace kube
