/// What the operator keeps in memory of Evacuations that tenants create.

#include "controllers/evacuation/io.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/meta/well_known.hpp"
#include "kube/client.hpp"

namespace evacuation_io_test {

using api::Json;
using controllers::evacuation::decode_observed_evacuation;
using controllers::evacuation::is_trimmed;

const std::string kHuge(200'000, 'x');

Json evacuation_in(const char* phase) {
  Json history = Json::array();
  for (const char* to : {"Pending", "Preparing", "Requesting", "Evicting", "Verifying", phase})
    history.push_back({{"to", to}, {"message", "message of " + std::string(to)}, {"time", "2026-11-21T12:00:00Z"}});
  return {{"apiVersion", "evacuator.dev/v1alpha1"},
          {"kind", "Evacuation"},
          {"metadata",
           {{"name", "web-1"},
            {"namespace", "shop"},
            {"annotations", {{"shop.example/notes", kHuge}, {"evacuator.dev/origin", "v1.abc"}}}}},
          {"spec",
           {{"podRef", {{"name", "web-1"}}},
            {"evictors", Json::array({{{"name", "webhook"}, {"parameters", {{"x-note", "n"}}}}})}}},
          {"status", {{"phase", phase}, {"refs", {{"kind", "Deployment"}}}, {"history", history}}}};
}

api::Evacuation observed(const Json& object) {
  auto decoded = decode_observed_evacuation(object.dump());
  EXPECT_TRUE(decoded) << decoded.error().message;
  return decoded ? *std::move(decoded) : api::Evacuation{};
}

/// A newer version that knows more phases has written this status. Reading it as Pending would start the eviction
/// again.
TEST(EvacuationIo, APhaseOfAnotherVersionIsNoState) {
  const char* text = R"({"metadata": {"name": "e", "namespace": "shop"}, "spec": {"podRef": {"name": "web"}},
                         "status": {"phase": "Dancing", "attempt": 2}})";
  for (const auto& read : {controllers::evacuation::decode_observed_evacuation(text),
                           controllers::evacuation::decode_whole_evacuation(text)}) {
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("Dancing"), std::string::npos) << read.error().message;
  }
  EXPECT_TRUE(controllers::evacuation::decode_whole_evacuation(
      R"({"metadata": {"name": "e"}, "spec": {"podRef": {"name": "web"}}, "status": {}})"));
}

TEST(CachedEvacuation, KeepsNoAnnotationsThatTenantsFillWithWhatTheyLike) {
  const auto annotations = observed(evacuation_in("InProgress")).meta.annotations;
  EXPECT_EQ(annotations.size(), 1U);
  EXPECT_EQ(annotations.value(api::well_known::kOriginAnnotation), "v1.abc");
}

TEST(CachedEvacuation, KeepsEverythingElseUntilItIsLetGo) {
  Json object = evacuation_in("Failed");
  object["metadata"]["finalizers"] = {api::well_known::kEvacuationFinalizer};
  for (const Json& each : {evacuation_in("InProgress"), object}) {
    const api::Evacuation evacuation = observed(each);
    EXPECT_FALSE(is_trimmed(evacuation));
    EXPECT_EQ(evacuation.spec.evictors.at(0).parameters.size(), 1U);
    EXPECT_EQ(evacuation.status.refs.size(), 1U);
    EXPECT_EQ(evacuation.status.history.size(), 6U);
  }
}

TEST(CachedEvacuation, IsTrimmedToItsEndOnceItIsLetGo) {
  const api::Evacuation evacuation = observed(evacuation_in("Succeeded"));
  EXPECT_TRUE(is_trimmed(evacuation));
  EXPECT_EQ(evacuation.spec.evictors.at(0).name, "webhook");
  EXPECT_TRUE(evacuation.spec.evictors.at(0).parameters.empty());
  EXPECT_TRUE(evacuation.status.refs.empty());
  ASSERT_EQ(evacuation.status.history.size(), 3U);
  EXPECT_EQ(evacuation.status.history[0].to, "Evicting");
  EXPECT_EQ(evacuation.status.history[0].message, "");
  EXPECT_EQ(evacuation.status.history[2].message, "message of Succeeded");
}

TEST(Sizes, HugeOwnerNamesLabelsAndFinalizersAreNotKept) {
  Json object = evacuation_in("InProgress");
  Json& meta = object["metadata"];
  const auto owner = [](const std::string& name, const std::string& uid) {
    return Json{{"apiVersion", "v1"}, {"kind", "Thing"}, {"name", name}, {"uid", uid}};
  };
  meta["ownerReferences"] = {owner(kHuge, "u-1"), owner("o", kHuge), owner("kept", "u-2")};
  for (int i = 0; i < 1000; ++i) {
    const std::string n = std::to_string(i);
    meta["ownerReferences"].push_back(owner("o-" + n, "u-" + n));
    meta["labels"]["shop.example/label-" + n] = n;
    meta["finalizers"].push_back("shop.example/finalizer-" + n);
  }
  meta["labels"][std::string(api::well_known::kPolicyLabel)] = "balance";
  meta["finalizers"].push_back(api::well_known::kEvacuationFinalizer);
  const api::Evacuation kept = observed(object);
  EXPECT_EQ(kept.meta.owner_references.size(), 64U);
  EXPECT_EQ(kept.meta.owner_references.front().name, "kept");
  EXPECT_EQ(kept.meta.labels.size(), 1U);
  EXPECT_EQ(kept.meta.labels.value(api::well_known::kPolicyLabel), "balance");
  EXPECT_EQ(kept.meta.finalizers.size(), 2U) << "ours, and a sign that there are others";
  EXPECT_TRUE(controllers::evacuation::has_foreign_finalizers(kept)) << "so none are written back from the cache";

  const auto pod = api::decode_pod(Json{{"metadata", meta}}.dump());
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->meta.owner_references.size(), 64U);
  EXPECT_EQ(pod->meta.owner_references.front().name, "kept");
}

/// Answers every request with the same body.
class OneAnswer final : public kube::Transport {
 public:
  explicit OneAnswer(const Json& body) : body_(body.dump()) {}
  base::Result<kube::Response> round_trip(const kube::Request&) override { return kube::Response{200, body_, {}, {}}; }
  base::Result<std::unique_ptr<kube::WatchStream>> list(const kube::Request&) override {
    return base::invalid("no list");
  }
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request&) override {
    return base::invalid("no watch");
  }

 private:
  const std::string body_;
};

struct AnswerCase {
  const char* name;
  Json uid;
  Json generation;
  const char* want;  ///< expected spec.reason
};
class StatusAnswer : public testing::TestWithParam<AnswerCase> {};

/// The answer has "as answered" as spec.reason. The reader uses it if the spec may have changed.
TEST_P(StatusAnswer, HasTheSpecIfItMayHaveChanged) {
  Json object = evacuation_in("Pending");
  object["metadata"]["uid"] = "u-1";
  object["metadata"]["generation"] = 2;
  object["spec"]["reason"] = "as before";
  const controllers::evacuation::StoredEvacuation stored{observed(object)};
  object["metadata"]["uid"] = GetParam().uid;
  object["metadata"]["generation"] = GetParam().generation;
  object["metadata"]["resourceVersion"] = "8";
  object["spec"]["reason"] = "as answered";
  object["status"]["phase"] = "Preparing";
  OneAnswer transport(object);
  kube::Client client(transport, nullptr);
  const auto written = controllers::evacuation::write_status(client, stored, {});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->evacuation.spec.reason, GetParam().want);
  EXPECT_EQ(written->evacuation.meta.resource_version, "8");
  EXPECT_EQ(written->evacuation.status.phase, api::EvacuationPhase::kPreparing);
}

INSTANTIATE_TEST_SUITE_P(Cases, StatusAnswer,
                         testing::Values(AnswerCase{"SameGeneration", "u-1", 2, "as before"},
                                         AnswerCase{"AnotherGeneration", "u-1", 3, "as answered"},
                                         AnswerCase{"NoGeneration", "u-1", nullptr, "as answered"},
                                         AnswerCase{"AnotherObject", "u-2", 2, "as answered"}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace evacuation_io_test
