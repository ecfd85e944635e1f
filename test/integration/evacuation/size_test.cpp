/// Size limits of an Evacuation, and the handling of Evacuations created before the limits existed.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "test/integration/rig/rig.hpp"

namespace size_test {

using api::Json;
using integration::Rig;
using testing::HasSubstr;
using Phase = api::EvacuationPhase;

class Sizes : public Rig {
 protected:
  kube::Response create(const std::string& pod, const std::string& parameter) {
    return server->handle(kube::create_request(kube::kEvacuations, "shop", with_parameter(pod, parameter)),
                          {"mallory", {}, "kubectl"});
  }
  static Json with_parameter(const std::string& pod, const std::string& parameter) {
    return {{"apiVersion", "evacuator.dev/v1alpha1"},
            {"kind", "Evacuation"},
            {"metadata", {{"name", "of-" + pod}, {"namespace", "shop"}}},
            {"spec",
             {{"podRef", {{"name", pod}}},
              {"evictors", Json::array({{{"name", "eviction-api"}, {"parameters", {{parameter, "x"}}}}})}}}};
  }
};

TEST_F(Sizes, AHugeParameterNameIsRefusedByName) {
  stage();
  start_operator();
  const auto answer = create(pods()[0], std::string(1'300'000, 'k'));
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(answer.body, HasSubstr("is longer than 63 characters"));
  const std::string other = evacuate(pods()[1]);
  ASSERT_TRUE(run_to_end(other, std::chrono::minutes(5)));
  EXPECT_EQ(phase(other), Phase::kSucceeded);
}

/// The Evacuation was stored before the limits, and the operator has not processed it yet.
TEST_F(Sizes, AnOldHugeEvacuationEndsAsInvalid) {
  stage();
  const std::string pod = pods()[0];
  add(with_parameter(pod, std::string(10'000, 'k')));
  start_operator();
  ASSERT_TRUE(run_to_end("of-" + pod, std::chrono::minutes(5)));
  EXPECT_EQ(phase("of-" + pod), Phase::kFailed);
  EXPECT_EQ(reason("of-" + pod), "InvalidSpec");
  EXPECT_TRUE(pod_exists(pod));
}

/// The Evacuation was in progress when the CRD with the limits was applied.
TEST_F(Sizes, AHugeEvacuationInProgressContinues) {
  stage();
  start_operator();
  budget("web", "web", 3);
  const std::string name = evacuate(pods()[0]);
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kRequesting; }, std::chrono::minutes(1)));
  edit(kube::kEvacuations, name, [](Json& object) {
    object["spec"]["evictors"] =
        Json::array({{{"name", "eviction-api"}, {"parameters", {{std::string(10'000, 'k'), "x"}}}}});
    object["status"].erase("specHash");  // accepted by an operator that computed no hash
  });
  EXPECT_EQ(server->handle(kube::delete_request(kube::kPdbs, {"shop", "web"}, ""), {"alice", {}, "kubectl"}).status,
            200);
  ASSERT_TRUE(run_to_end(name, std::chrono::minutes(10)));
  EXPECT_FALSE(has_event("WriteRefused"));
  EXPECT_EQ(phase(name), Phase::kSucceeded) << reason(name);
}

}  // namespace size_test
