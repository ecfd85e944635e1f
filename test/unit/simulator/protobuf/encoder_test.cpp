/// Compares the simulator's protobuf with the golden bytes of a kube-apiserver and with its own JSON.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/core/protobuf/envelope.hpp"
#include "api/core/protobuf/fields.hpp"
#include "kube/client.hpp"
#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "simulator/objects.hpp"
#include "simulator/protobuf/encoder.hpp"
#include "test/unit/api/core/described.hpp"

namespace simulator {
namespace protobuf_test {

using api::Json;
using testing::HasSubstr;

std::string golden(const std::string& name) {
  std::ifstream in(EVACUATOR_SOURCE_DIR "/test/unit/api/core/golden/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

template <typename T>
std::vector<std::string> all_described(const std::string& list, base::Result<T> (*decode)(std::string_view)) {
  std::vector<std::string> all;
  const auto listed = api::for_each_item(list, [&](std::string_view item) -> base::Status {
    const auto decoded = decode(item);
    EXPECT_TRUE(decoded) << (decoded ? "" : decoded.error().message);
    if (decoded) all.push_back(api::described(*decoded));
    return base::Done{};
  });
  EXPECT_TRUE(listed) << (listed ? "" : listed.error().message);
  return all;
}

/// Encodes the golden JSON with the simulator. The result must decode like the golden bytes.
template <typename T>
void expect_golden(const std::string& plural, const std::string& kind, base::Result<T> (*decode)(std::string_view)) {
  SCOPED_TRACE(plural);
  const auto want = all_described(golden("protobuf/" + plural + ".pb"), decode);
  const Json list = Json::parse(golden("json/" + plural + ".json"));
  ASSERT_EQ(list.at("items").size(), want.size());
  EXPECT_FALSE(want.empty());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::string body = encode_message(*api::protobuf::message_of(kind), list["items"][i]);
    const auto decoded = decode(api::protobuf::seal(list.at("apiVersion").get<std::string>(), kind, body));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(api::described(*decoded), want[i]);
  }
}

TEST(SimulatedProtobuf, DecodesLikeTheGoldenBytes) {
  expect_golden("pods", "Pod", api::decode_pod);
  expect_golden("nodes", "Node", api::decode_node);
  expect_golden("namespaces", "Namespace", api::decode_namespace);
  expect_golden("poddisruptionbudgets", "PodDisruptionBudget", api::decode_pdb_v1beta1);
  expect_golden("priorityclasses", "PriorityClass", api::decode_priority_class);
  expect_golden("persistentvolumeclaims", "PersistentVolumeClaim", api::decode_pvc);
  expect_golden("persistentvolumes", "PersistentVolume", api::decode_pv);
  expect_golden("storageclasses", "StorageClass", api::decode_storage_class);
  expect_golden("csinodes", "CSINode", api::decode_csi_node);
  expect_golden("replicasets", "ReplicaSet", api::decode_workload);
  expect_golden("statefulsets", "StatefulSet", api::decode_workload);
  expect_golden("jobs", "Job", api::decode_workload);
}

/// Fields that a 1.20 server does not have.
TEST(SimulatedProtobuf, EncodesFieldsOfNewerServers) {
  const Json pod = Json::parse(R"({"metadata":{"name":"p","namespace":"shop"},"spec":{
      "containers":[{"name":"c","resources":{"requests":{"cpu":1,"memory":"1Gi"}}}],
      "initContainers":[{"name":"s","restartPolicy":"Always"}],
      "schedulingGates":[{"name":"g"}],"resourceClaims":[{"name":"r","resourceClaimName":"gpu"}],
      "schedulingGroup":{"podGroupName":"x"},"evictionResponders":[{"name":"a.example.com/x","priority":10000}]},
      "status":{"phase":"Running","startTime":"2026-11-21T10:00:00Z",
      "conditions":[{"type":"Ready","status":"False","lastTransitionTime":null,"observedGeneration":3}]}})");
  const std::string body = encode_message(*api::protobuf::message_of("Pod"), pod);
  const auto bytes = api::decode_pod(api::protobuf::seal("v1", "Pod", body));
  const auto json = api::decode_pod(pod.dump());
  ASSERT_TRUE(bytes && json);
  EXPECT_TRUE(bytes->has_scheduling_gates && bytes->has_scheduling_group &&
              bytes->makes_resource_claims == json->makes_resource_claims);
  EXPECT_EQ(api::described(*bytes), api::described(*json));
}

TEST(SimulatedProtobuf, WrongTypesAreOmitted) {
  const Json pod = {{"metadata", {{"name", 7}, {"labels", {{"a", 1}, {"b", "x"}}}, {"finalizers", "none"}}},
                    {"spec", {{"nodeName", nullptr}, {"priority", "high"}, {"containers", Json::array({3})}}},
                    {"status", Json::array()}};
  const std::string body = encode_message(*api::protobuf::message_of("Pod"), pod);
  const auto decoded = api::decode_pod(api::protobuf::seal("v1", "Pod", body));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->meta.name, "");
  EXPECT_EQ(decoded->meta.labels.size(), 1U);
  EXPECT_TRUE(decoded->containers.empty());
  EXPECT_EQ(encode_message(*api::protobuf::message_of("Pod"), Json::array()), "");
}

/// A running cluster, read in both media types.
class LivingCluster : public testing::Test {
 protected:
  LivingCluster() {
    add(objects::name_space("shop"));
    for (const char* node : {"node-a", "node-b"}) add(objects::node(node, "8", "16Gi"));
    add(objects::deployment("shop", "web", 3, "100m", "64Mi"));
    add(objects::pdb_min_available("shop", "web", "web", 2));
    for (int i = 0; i < 50; ++i) {
      cluster.run_until_quiet();
      clock.advance(base::seconds(10));
    }
  }
  void add(Json object) {
    const auto added = cluster.add(std::move(object));
    EXPECT_TRUE(added) << added.error().message;
  }
  kube::Response list(const kube::ResourceType& type, bool protobuf, int limit = 0, const std::string& token = {}) {
    kube::ListOptions options;
    options.protobuf = protobuf;
    options.limit = limit;
    options.continue_token = token;
    return server.handle(kube::list_request(type, options), {});
  }
  template <typename T>
  void expect_the_same(const kube::ResourceType& type, base::Result<T> (*decode)(std::string_view),
                       std::size_t at_least) {
    SCOPED_TRACE(type.plural);
    const auto bytes = list(type, true);
    EXPECT_EQ(bytes.content_type, api::protobuf::kMediaType);
    const auto from_protobuf = all_described(bytes.body, decode);
    EXPECT_GE(from_protobuf.size(), at_least);
    EXPECT_EQ(from_protobuf, all_described(list(type, false).body, decode));
  }

  base::ManualClock clock{*base::parse_time("2026-11-21T10:00:00Z")};
  Cluster cluster{clock};
  ApiServer server{cluster.store()};
};

TEST_F(LivingCluster, IsEqualInBothMediaTypes) {
  expect_the_same(kube::kPods, api::decode_pod, 3);
  expect_the_same(kube::kNodes, api::decode_node, 2);
  expect_the_same(kube::kNamespaces, api::decode_namespace, 1);
  expect_the_same(kube::kPdbs, api::decode_pdb, 1);
  expect_the_same(kube::kReplicaSets, api::decode_workload, 1);
  expect_the_same(kube::kStatefulSets, api::decode_workload, 0);
}

TEST_F(LivingCluster, PagesContinueWhereTheyStopped) {
  std::vector<std::string> names;
  std::string token;
  int pages = 0;
  do {
    const auto listed =
        api::for_each_item(list(kube::kPods, true, 2, token).body, [&](std::string_view item) -> base::Status {
          names.push_back(api::decode_meta(item)->name);
          return base::Done{};
        });
    ASSERT_TRUE(listed);
    EXPECT_EQ(listed->resource_version, std::to_string(cluster.store().revision()));
    token = listed->continue_token;
    ++pages;
  } while (!token.empty());
  EXPECT_EQ(pages, 2);
  EXPECT_EQ(names.size(), 3U);
}

TEST_F(LivingCluster, ATruncatedListIsAnError) {
  SimulatorTransport transport(server, {});
  kube::Client client(transport, nullptr);
  const auto ignore = [](std::string_view) -> base::Status { return base::Done{}; };
  ASSERT_TRUE(client.list_cached(kube::kPods, {}, ignore));
  const std::size_t size = list(kube::kPods, true).body.size();
  for (std::size_t at = 0; at + 4 < size; at += 11) {
    server.faults().set({{.effect = FaultEffect::kCutAnswer,
                          .count = 1,
                          .at = (static_cast<double>(at) + 0.5) / static_cast<double>(size)}});
    const auto listed = client.list_cached(kube::kPods, {}, ignore);
    ASSERT_FALSE(listed) << at;
    EXPECT_EQ(listed.error().code, base::ErrorCode::kUnavailable) << listed.error().message;
  }
}

}  // namespace protobuf_test
}  // namespace simulator
