#include <algorithm>
#include <nlohmann/json.hpp>

#include "test/integration/rig/rig.hpp"

/// A policy's status is written while its cache is behind, because the counts of its Evacuations change faster.
namespace status_writes_test {

using api::Json;
using base::minutes;
using base::seconds;

class StatusWrites : public integration::Rig {
 protected:
  /// The first cycle moves a pod. From before that on, no event of the policy arrives for a minute.
  void begin() {
    stage();
    start_operator();
    run_for(minutes(20));
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "old"}}},
         {"spec",
          {{"mode", "Automatic"},
           {"schedule", {{"interval", "1h"}}},
           {"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 900}}}}})}}}});
    replica->transport.before_each_call = [this](const kube::Request& request) {
      if (request.method == "POST" && request.path.ends_with("/evacuations")) stall("deschedulerpolicies");
    };
  }
  /// Stalls the running watch.
  void stall(const std::string& plural) {
    simulator::FaultRule silence{simulator::FaultEffect::kStallWatch};
    silence.resource = plural;
    server->faults().set({silence});
  }
  /// Returns the number of writes of the policy's status that were answered with `code`.
  std::int64_t answers(int code) const {
    return std::ranges::count_if(server->journal().entries(), [code](const simulator::JournalEntry& each) {
      return each.resource == "deschedulerpolicies" && each.subresource == "status" && each.code == code;
    });
  }
};

TEST_F(StatusWrites, DoNotCollideWithTheOnesThatTheCacheDoesNotShowYet) {
  begin();
  run_for(minutes(1));
  EXPECT_EQ(policy_status("old").active, 0);
  EXPECT_EQ(policy_status("old").evicted, 3);
  EXPECT_GE(answers(200), 3) << "the cycle, and what became of its Evacuations";
  EXPECT_EQ(answers(409), 0);
}

TEST_F(StatusWrites, ConflictWithAForeignWriteThatTheCacheDoesNotShow) {
  begin();
  ASSERT_TRUE(run_until([this] { return answers(200) > 0; }, minutes(1)));
  edit(
      kube::kPolicies, "old", [](Json& policy) { policy["spec"]["suspend"] = true; }, "");
  run_for(minutes(1));
  EXPECT_GE(answers(409), 1) << "what is written was decided on another spec";
  server->faults().clear();
  run_for(minutes(5));
  EXPECT_EQ(policy_condition("old", "Suspended").status, api::ConditionStatus::kTrue);
  EXPECT_EQ(policy_status("old").evicted, 3);
}

}  // namespace status_writes_test
