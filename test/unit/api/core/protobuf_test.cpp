/// Compares protobuf with JSON. golden/ has the same lists in both formats, recorded from a kube-apiserver 1.20.2 with
/// the objects of golden/objects.yaml and their statuses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "api/core/codec.hpp"
#include "api/core/protobuf/cursor.hpp"
#include "api/core/protobuf/envelope.hpp"
#include "api/core/protobuf/list_splitter.hpp"
#include "described.hpp"

namespace api {
namespace protobuf_test {

using protobuf::ListSplitter;
using protobuf::seal;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string golden(const std::string& name) {
  std::ifstream in(EVACUATOR_SOURCE_DIR "/test/unit/api/core/golden/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

template <typename T>
std::vector<std::string> all_described(const std::string& list, base::Result<T> (*decode)(std::string_view)) {
  std::vector<std::string> all;
  const auto listed = for_each_item(list, [&](std::string_view item) -> base::Status {
    const auto decoded = decode(item);
    EXPECT_TRUE(decoded) << (decoded ? "" : decoded.error().message);
    if (decoded) all.push_back(described(*decoded));
    return base::Done{};
  });
  EXPECT_TRUE(listed) << (listed ? "" : listed.error().message);
  return all;
}

template <typename T>
void expect_equal(const std::string& name, std::size_t count, base::Result<T> (*decode)(std::string_view)) {
  SCOPED_TRACE(name);
  const auto from_json = all_described(golden("json/" + name + ".json"), decode);
  const auto from_protobuf = all_described(golden("protobuf/" + name + ".pb"), decode);
  EXPECT_EQ(from_json.size(), count);
  ASSERT_EQ(from_protobuf.size(), from_json.size());
  for (std::size_t i = 0; i < from_json.size(); ++i) EXPECT_EQ(from_protobuf[i], from_json[i]);
}

TEST(Golden, EqualsTheJsonOfTheSameServer) {
  expect_equal("pods", 2, decode_pod);
  expect_equal("nodes", 1, decode_node);
  expect_equal("namespaces", 1, decode_namespace);
  expect_equal("poddisruptionbudgets", 3, decode_pdb_v1beta1);
  expect_equal("priorityclasses", 1, decode_priority_class);
  expect_equal("persistentvolumeclaims", 2, decode_pvc);
  expect_equal("persistentvolumes", 4, decode_pv);
  expect_equal("storageclasses", 2, decode_storage_class);
  expect_equal("csinodes", 1, decode_csi_node);
  expect_equal("replicasets", 1, decode_workload);
  expect_equal("statefulsets", 1, decode_workload);
  expect_equal("jobs", 1, decode_workload);
}

/// Checks that the comparison covers the interesting fields.
TEST(Golden, ContainsTheWrittenFields) {
  const auto pods = all_described(golden("protobuf/pods.pb"), decode_pod);
  ASSERT_EQ(pods.size(), 2U);
  for (const char* part : {"golden-node", "\"OOMKilled\" 137", "example.com/hold", "CrashLoopBackOff",
                           "emoji=\U0001F600 ü", "\"cpu\" 250m", "toleration: \"leave\" 1", "\"127.0.0.1\" \"UDP\" 80"})
    EXPECT_THAT(pods[1], HasSubstr(part));
  EXPECT_THAT(pods[1], ::testing::Not(HasSubstr("last-applied")));
  const auto jobs = all_described(golden("protobuf/jobs.pb"), decode_workload);
  EXPECT_THAT(jobs.at(0), HasSubstr("workload: 4 2 none"));
}

TEST(Golden, PagesHaveAContinueToken) {
  const auto none = [](std::string_view) -> base::Status { return base::Done{}; };
  const auto json = for_each_item(golden("json/page.json"), none);
  const auto bytes = for_each_item(golden("protobuf/page.pb"), none);
  ASSERT_TRUE(json && bytes);
  EXPECT_EQ(bytes->resource_version, json->resource_version);
  EXPECT_EQ(bytes->continue_token, json->continue_token);
  EXPECT_EQ(bytes->remaining_item_count, json->remaining_item_count);
  EXPECT_EQ(bytes->kind, "NamespaceList");
  EXPECT_FALSE(bytes->continue_token.empty());
}

std::vector<std::string> frames_of(std::string_view stream) {
  std::vector<std::string> frames;
  while (stream.size() >= 4) {
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(stream[i])); };
    const std::size_t length = byte(0) << 24U | byte(1) << 16U | byte(2) << 8U | byte(3);
    frames.emplace_back(stream.substr(4, length));
    stream.remove_prefix(std::min(stream.size(), 4 + length));
  }
  return frames;
}

TEST(Golden, WatchesEqualJson) {
  std::vector<std::string> of_frames;
  for (const std::string& frame : frames_of(golden("protobuf/watch.pb"))) {
    const auto event = split_watch_line(frame);
    ASSERT_TRUE(event) << event.error().message;
    of_frames.push_back(event->type + described(*decode_pod(event->object)));
    EXPECT_EQ(decode_meta(event->object)->ns, "golden");
  }
  std::vector<std::string> of_lines;
  std::istringstream lines(golden("json/watch.json"));
  for (std::string line; std::getline(lines, line);) {
    const auto event = split_watch_line(line);
    ASSERT_TRUE(event);
    of_lines.push_back(event->type + described(*decode_pod(event->object)));
  }
  EXPECT_EQ(of_frames.size(), 2U);
  EXPECT_EQ(of_frames, of_lines);
}

// ---------------------------------------------------------------- fields that a 1.20 server does not have

/// Hand-built protobuf message.
struct Bytes {
  std::string text;
  Bytes& put(std::uint32_t number, std::string_view value) {
    protobuf::put_bytes(text, number, value);
    return *this;
  }
  Bytes& put(std::uint32_t number, const Bytes& value) { return put(number, std::string_view(value.text)); }
  Bytes& put(std::uint32_t number, std::int64_t value) {
    put_varint(number << 3U);
    put_varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) text += static_cast<char>(value | 0x80U);
    text += static_cast<char>(value);
  }
};

Bytes amount(const char* name, const char* quantity) {
  return Bytes().put(1, std::string_view(name)).put(2, Bytes().put(1, std::string_view(quantity)));
}

std::string pod_bytes(const Bytes& spec, const Bytes& status = {}) {
  Bytes pod;
  pod.put(1, Bytes().put(1, std::string_view("web")).put(3, std::string_view("shop"))).put(2, spec).put(3, status);
  return seal("v1", "Pod", pod.text);
}

TEST(Protobuf, ReadsFieldsOfNewerServers) {
  Bytes spec;
  spec.put(2, Bytes()
                  .put(1, std::string_view("c"))
                  .put(24, std::string_view("Always"))
                  .put(8, Bytes().put(2, amount("cpu", "1"))));
  spec.put(38, Bytes().put(1, std::string_view("gate")));
  spec.put(39, Bytes().put(1, std::string_view("gpu")).put(3, std::string_view("shared")));
  spec.put(39, Bytes().put(1, std::string_view("own")).put(4, std::string_view("made")));
  spec.put(40, Bytes().put(1, amount("memory", "2Gi")).put(2, amount("memory", "1Gi")));
  spec.put(43, Bytes().put(1, std::string_view("group")));
  spec.put(44, Bytes().put(1, std::string_view("r.example.com")).put(2, std::int64_t{5}));
  spec.put(1,
           Bytes()
               .put(1, std::string_view("v"))
               .put(2, Bytes().put(
                           29, Bytes().put(1, Bytes().put(2, Bytes()
                                                                 .put(5, std::string_view("fast"))
                                                                 .put(2, Bytes().put(2, amount("storage", "1Gi"))))))));
  spec.put(33, Bytes()
                   .put(1, std::int64_t{1})
                   .put(2, std::string_view("zone"))
                   .put(5, std::int64_t{3})
                   .put(6, std::string_view("Ignore"))
                   .put(7, std::string_view("Honor"))
                   .put(8, std::string_view("hash")));
  Bytes status;
  status.put(8, Bytes()
                    .put(1, std::string_view("c"))
                    .put(10, amount("cpu", "1500m"))
                    .put(11, Bytes().put(2, amount("cpu", "2"))));
  status.put(20, Bytes().put(2, amount("memory", "3Gi")));
  const auto bytes = decode_pod(pod_bytes(spec, status));
  const auto json = decode_pod(R"({"metadata":{"name":"web","namespace":"shop"},"spec":{
    "containers":[{"name":"c","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}],
    "schedulingGates":[{"name":"gate"}],
    "resourceClaims":[{"name":"gpu","resourceClaimName":"shared"},{"name":"own","resourceClaimTemplateName":"made"}],
    "resources":{"limits":{"memory":"2Gi"},"requests":{"memory":"1Gi"}},"schedulingGroup":{"podGroupName":"group"},
    "evictionResponders":[{"name":"r.example.com","priority":5}],
    "volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{"storageClassName":"fast","resources":{"requests":{"storage":"1Gi"}}}}}}],
    "topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","minDomains":3,"nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor","matchLabelKeys":["hash"]}]},
    "status":{"containerStatuses":[{"name":"c","allocatedResources":{"cpu":"1500m"},"resources":{"requests":{"cpu":"2"}}}],
    "resources":{"requests":{"memory":"3Gi"}}}})");
  ASSERT_TRUE(bytes && json);
  EXPECT_EQ(described(*bytes), described(*json));
  EXPECT_NE(bytes->containers.at(0).held, nullptr);
  EXPECT_TRUE(bytes->has_scheduling_gates && bytes->has_scheduling_group && bytes->makes_resource_claims);
}

/// Fields that a 1.20 server omits, and objects without a status.
TEST(Protobuf, ReadsTheRestOfTheSmallKinds) {
  const auto job = decode_workload(
      seal("batch/v1", "Job", Bytes().put(2, Bytes().put(1, std::int64_t{2}).put(8, std::int64_t{600})).text));
  ASSERT_TRUE(job);
  EXPECT_EQ(job->ttl_seconds_after_finished, 600);
  EXPECT_EQ(job->replicas, 2);
  EXPECT_EQ(job->kind, "Job");
  Bytes failed;
  failed.put(1, std::string_view("DisruptionAllowed")).put(2, std::string_view("False"));
  failed.put(5, std::string_view("SyncFailed")).put(6, std::string_view("no scale"));
  const auto pdb = decode_pdb(
      seal("policy/v1", "PodDisruptionBudget",
           Bytes().put(2, Bytes().put(4, std::string_view("AlwaysAllow"))).put(3, Bytes().put(7, failed)).text));
  ASSERT_TRUE(pdb);
  EXPECT_TRUE(pdb->always_allow_unhealthy);
  EXPECT_FALSE(pdb->from_v1beta1);
  EXPECT_EQ(pdb->sync_failure, "no scale");
  EXPECT_FALSE(decode_resource_claim(seal("resource.k8s.io/v1", "ResourceClaim", "")));
  EXPECT_FALSE(decode_workload(seal("apps/v1", "Deployment", "")));
}

TEST(Protobuf, AcceptsFieldsInAnyOrderAndSkipsUnknownOnes) {
  Bytes spec;
  spec.put(2, Bytes().put(1, std::string_view("a")))
      .put(10, std::string_view("node-1"))
      .put(999, std::string_view("new"));
  spec.put(998, std::int64_t{-1}).put(2, Bytes().put(2, std::string_view("image")).put(1, std::string_view("b")));
  const auto pod = decode_pod(pod_bytes(spec));
  ASSERT_TRUE(pod);
  ASSERT_EQ(pod->containers.size(), 2U);
  EXPECT_EQ(pod->containers[1].name, "b");
  EXPECT_EQ(pod->node_name.value, "node-1");
}

TEST(Protobuf, WrongTypesCountAsAbsent) {
  Bytes spec;
  spec.put(10, std::int64_t{7})
      .put(11, std::string_view("yes"))
      .put(25, std::int64_t{1} << 40U)
      .put(18, std::int64_t{1});
  Bytes status;
  status.put(7, Bytes().put(1, std::numeric_limits<std::int64_t>::max()));
  const auto pod = decode_pod(pod_bytes(spec, status));
  ASSERT_TRUE(pod);
  EXPECT_EQ(described(*pod), described(*decode_pod(R"({"metadata":{"name":"web","namespace":"shop"}})")));
}

TEST(Protobuf, InvalidUtf8ReadsLikeInJson) {
  const auto pod = decode_pod(pod_bytes(Bytes().put(10, std::string_view("n\xff\xc3"))));
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->node_name.value, "n\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Protobuf, InvalidAmountsAreReported) {
  Bytes spec;
  spec.put(2, Bytes().put(1, std::string_view("c")).put(8, Bytes().put(2, amount("cpu", "lots"))));
  const auto bytes = decode_pod(pod_bytes(spec));
  const auto json = decode_pod(
      R"({"metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"lots"}}}]}})");
  ASSERT_TRUE(bytes && json);
  EXPECT_EQ(described(*bytes), described(*json));
  EXPECT_NE(bytes->unread, nullptr);
}

// ---------------------------------------------------------------- bad input

struct BadCase {
  const char* name;
  std::string bytes;
  const char* want;
};
class BadProtobuf : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadProtobuf, IsReportedAsAnError) {
  const auto pod = decode_pod(GetParam().bytes);
  ASSERT_FALSE(pod);
  EXPECT_EQ(pod.error().code, base::ErrorCode::kInvalid);
  EXPECT_THAT(pod.error().message, HasSubstr(GetParam().want));
}

std::string magic(const std::string& rest) { return std::string(protobuf::kMagic) + rest; }
std::string deep() {
  std::string nested;
  for (int i = 0; i < 2000; ++i) nested = Bytes().put(1, std::string_view(nested)).text;
  return nested;
}

INSTANTIATE_TEST_SUITE_P(
    Bytes, BadProtobuf,
    ::testing::Values(
        BadCase{"NoKind", magic(""), "no kind"}, BadCase{"OtherKind", seal("v1", "Node", ""), "kind Node"},
        BadCase{"Length2To63", magic("\x12\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), "cut off or malformed"},
        BadCase{"Length2To32", magic(std::string("\x12\x80\x80\x80\x80\x10", 6)), "cut off or malformed"},
        BadCase{"EndlessVarint", magic(std::string("\x12") + std::string(20, '\xff')), "cut off or malformed"},
        BadCase{"InnerLength2To63", seal("v1", "Pod", "\x12\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), "malformed"},
        BadCase{"Cut", seal("v1", "Pod", std::string("\x0a\x05\x0a", 3)), "cut off or malformed"},
        BadCase{"CutFurtherIn", pod_bytes(Bytes{std::string("\x12\x05\x0a\x09", 4)}), "cut off or malformed"},
        BadCase{"Group", seal("v1", "Pod", "\x13\x14"), "malformed"},
        BadCase{"FieldZero", seal("v1", "Pod", std::string("\x02\x00", 2)), "malformed"},
        BadCase{"Gzip", magic(Bytes().put(3, std::string_view("gzip")).text), "encoded once more"}),
    [](const auto& test) { return test.param.name; });

TEST(Protobuf, SurvivesDeepNesting) {
  EXPECT_FALSE(decode_pod(pod_bytes(Bytes{"\x92\x01\xff"})));
  const auto pod = decode_pod(
      pod_bytes(Bytes().put(18, Bytes().put(1, std::string_view(deep()))).put(999, std::string_view(deep()))));
  EXPECT_TRUE(pod);
}

/// A list truncated at any byte must not crash and must not be read as complete.
TEST(Protobuf, ListsTruncatedAnywhereAreIncomplete) {
  const std::string list = golden("protobuf/pods.pb");
  for (std::size_t length = 0; length + 4 < list.size(); length += 7) {
    ListSplitter splitter(1 << 20);
    std::vector<std::string> envelopes;
    EXPECT_TRUE(splitter.feed(std::string_view(list).substr(0, length), envelopes)) << length;
    EXPECT_FALSE(splitter.is_complete()) << length;
    const auto listed =
        for_each_item(list.substr(0, length), [](std::string_view) -> base::Status { return base::Done{}; });
    EXPECT_FALSE(listed) << length;
  }
}

TEST(Protobuf, ListsArriveInPiecesOfAnySize) {
  const std::string list = golden("protobuf/persistentvolumes.pb");
  ListSplitter whole(1 << 20);
  std::vector<std::string> want;
  ASSERT_TRUE(whole.feed(list, want));
  ASSERT_TRUE(whole.is_complete());
  EXPECT_EQ(want.size(), 5U) << "four items, and what is said of all of them";
  for (const std::size_t size : {1U, 2U, 3U, 17U, 1000U}) {
    ListSplitter splitter(1 << 20);
    std::vector<std::string> got;
    for (std::size_t at = 0; at < list.size(); at += size)
      ASSERT_TRUE(splitter.feed(std::string_view(list).substr(at, size), got));
    EXPECT_EQ(got, want) << size;
  }
}

TEST(Protobuf, ListsOfAnotherShapeAreErrors) {
  const auto feed = [](const std::string& bytes) {
    ListSplitter splitter(1000);
    std::vector<std::string> envelopes;
    const auto fed = splitter.feed(bytes, envelopes);
    return fed ? std::string() : fed.error().message;
  };
  EXPECT_THAT(feed("{\"kind\":"), HasSubstr("does not begin as one"));
  EXPECT_THAT(feed(seal("v1", "Pod", "")), HasSubstr("is not a list"));
  EXPECT_THAT(feed(seal("", "", "abc")), HasSubstr("of which kind"));
  EXPECT_THAT(feed(seal("v1", "PodList", Bytes().put(2, std::string_view(std::string(2000, 'x'))).text)),
              HasSubstr("longer than allowed"));
  EXPECT_THAT(feed(seal("v1", "PodList", std::string("\x12\x05\x0a", 3))), HasSubstr("longer than the list"));
  EXPECT_THAT(feed(seal("v1", "PodList", "\x12\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01zzzzzzzzzzzzzz")),
              HasSubstr("longer than the list"));
  EXPECT_THAT(feed(seal("v1", "PodList", "")), IsEmpty());
}

/// A randomly damaged object gives an error or an object, always the same one.
TEST(Protobuf, DamageNeverCrashes) {
  std::mt19937 random(7);
  std::vector<std::string> pods;
  ASSERT_TRUE(for_each_item(golden("protobuf/pods.pb"), [&](std::string_view item) -> base::Status {
    pods.emplace_back(item);
    return base::Done{};
  }));
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = pods[random() % pods.size()];
    for (std::size_t change = 0; change <= random() % 4; ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const auto pod = decode_pod(bytes);
    const auto again = decode_pod(bytes);
    ASSERT_EQ(pod.ok(), again.ok());
    if (pod) {
      ASSERT_EQ(described(*pod), described(*again));
    }
    (void)split_watch_line(bytes);
    (void)protobuf::status_json(bytes);
  }
}

TEST(Protobuf, StatusesReadLikeJson) {
  const auto not_found = protobuf::status_json(golden("protobuf/status_404.pb"));
  ASSERT_TRUE(not_found);
  EXPECT_THAT(*not_found, HasSubstr(R"("name":"absent")"));
  EXPECT_THAT(*not_found, HasSubstr(R"("code":404)"));
  const auto gone = protobuf::status_json(golden("protobuf/status_410.pb"));
  ASSERT_TRUE(gone);
  EXPECT_THAT(*gone, HasSubstr(R"("reason":"Expired")"));
  EXPECT_FALSE(protobuf::status_json(golden("protobuf/pods.pb")));
}

}  // namespace protobuf_test
}  // namespace api
