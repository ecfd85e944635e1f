#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/json/yaml.hpp"
#include "test/integration/rig/rig.hpp"

/// Evacuations that were stored under an older schema: the API server rejects every write to them (422).
namespace refused_write_test {

using api::Json;
using base::minutes;
using base::seconds;
using integration::Rig;
using Phase = api::EvacuationPhase;

class StuckEvacuation : public Rig {
 protected:
  StuckEvacuation() { limits = {api::IntOrPercent{1, false}, {}, {}, {}}; }

  /// Installs the current schema with another maximum of spec.priority.
  void allow_priorities_to(int maximum) {
    std::ifstream file(EVACUATOR_SOURCE_DIR "/crds/evacuator.dev_evacuations.yaml");
    std::stringstream text;
    text << file.rdbuf();
    auto crd = api::parse_yaml(text.str());
    ASSERT_TRUE(crd) << crd.error().message;
    Json& spec = (*crd)[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    spec["properties"]["priority"]["maximum"] = maximum;
    const auto done = server->install_crd((*crd)[0]);
    ASSERT_TRUE(done) << done.error().message;
  }

  /// Creates an Evacuation that has the only slot, is blocked by a budget, and no longer matches the schema. Then
  /// removes the budget.
  std::string stick() {
    stage();
    start_operator();
    budget("web", "web", 3);
    const std::string stuck = evacuate(pods()[0], [](Json& spec) { spec["priority"] = 50; });
    EXPECT_TRUE(run_until(
        [&] { return condition(stuck, "EvictionGranted") == "PDBBlocked" || get(stuck).status.blocked_count > 0; },
        seconds(30)));
    allow_priorities_to(10);
    EXPECT_EQ(server->handle(kube::delete_request(kube::kPdbs, {"shop", "web"}, ""), {"alice", {}, "kubectl"}).status,
              200);
    EXPECT_TRUE(run_until([&] { return has_event("WriteRefused"); }, minutes(2)));
    return stuck;
  }
  std::int64_t writes_of(const std::string& name) const {
    const auto all = server->journal().entries();
    return std::count_if(all.begin(), all.end(), [&](const auto& entry) {
      return entry.resource == "evacuations" && entry.key.name == name && entry.verb == "patch";
    });
  }
};

TEST_F(StuckEvacuation, LetsOthersHaveItsSlotAndLeavesTheServerInPeace) {
  const std::string stuck = stick();
  const std::string next = evacuate(pods()[1]);
  const std::int64_t before = writes_of(stuck);
  ASSERT_TRUE(run_to_end(next, minutes(5)));
  EXPECT_EQ(phase(next), Phase::kSucceeded);
  run_for(minutes(35));
  EXPECT_EQ(phase(stuck), Phase::kRequesting);
  EXPECT_LE(writes_of(stuck) - before, 4) << "one try in ten minutes";
  EXPECT_EQ(std::count_if(replica->events.begin(), replica->events.end(),
                          [](const std::string& each) { return each.ends_with(" WriteRefused"); }),
            1);
  EXPECT_TRUE(pod_exists(get(stuck).spec.pod_ref.name)) << "no call without its intent written down";
}

TEST_F(StuckEvacuation, ContinuesAtOnceWhenItsSpecIsFixed) {
  const std::string stuck = stick();
  patch_evacuation(stuck, {{"spec", {{"priority", 5}}}});
  EXPECT_TRUE(run_to_end(stuck, minutes(5)));
  EXPECT_EQ(phase(stuck), Phase::kSucceeded);
}

TEST_F(StuckEvacuation, ContinuesWhenTheSchemaIsFixed) {
  const std::string stuck = stick();
  allow_priorities_to(100);
  EXPECT_TRUE(run_to_end(stuck, minutes(12)));
}

TEST_F(StuckEvacuation, IsFoundAgainByTheNextLeader) {
  const std::string stuck = stick();
  start_operator("replica-2");
  const std::string next = evacuate(pods()[1]);
  ASSERT_TRUE(run_to_end(next, minutes(5)));
  EXPECT_EQ(phase(next), Phase::kSucceeded);
  EXPECT_TRUE(has_event("WriteRefused"));
}

}  // namespace refused_write_test
