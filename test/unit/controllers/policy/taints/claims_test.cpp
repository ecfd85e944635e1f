#include "controllers/policy/taints/claims.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/meta/label_value.hpp"

namespace controllers {
namespace taint_claims_test {

using api::Json;
using api::Taint;
using testing::ElementsAre;
using testing::IsEmpty;
using enum api::TaintEffect;

const std::string kLoaded = "evacuator.dev/loaded";
const std::string kEmptying = "evacuator.dev/emptying";

Taint loaded(const std::string& value) { return {kLoaded, value, kPreferNoSchedule}; }

TEST(TaintClaims, AddMissingAndRemoveObsoleteTaints) {
  TaintClaims claims;
  claims.claim("level", {{"n1", kLoaded, "level"}});
  EXPECT_EQ(claims.change_for("n1", {}), (TaintChange{{loaded("level")}, {}}));
  EXPECT_TRUE(claims.change_for("n1", {loaded("level")}).empty());
  EXPECT_EQ(claims.change_for("n2", {loaded("level")}), (TaintChange{{}, {loaded("level")}}));
  claims.claim("level", {});
  EXPECT_EQ(claims.change_for("n1", {loaded("level")}), (TaintChange{{}, {loaded("level")}}));
}

TEST(TaintClaims, LeaveOtherPeoplesTaintsAlone) {
  const TaintClaims nobody;
  const std::vector<Taint> others = {{kLoaded, "level", kNoSchedule},
                                     {kLoaded, "level", kNoExecute},
                                     {"evacuator.dev/loaded2", "level", kPreferNoSchedule},
                                     {"loaded", "level", kPreferNoSchedule},
                                     {"node.kubernetes.io/unschedulable", "", kNoSchedule}};
  EXPECT_TRUE(nobody.change_for("n1", others).empty());
}

TEST(TaintClaims, RemoveWhatADeletedPolicyLeftBehindUnderAnyKeyOfOurs) {
  TaintClaims claims;
  claims.claim("level", {{"n1", kLoaded, "level"}});
  const Taint emptying{kEmptying, "gone", kPreferNoSchedule};
  EXPECT_EQ(claims.change_for("n1", {loaded("level"), loaded("gone"), emptying}),
            (TaintChange{{}, {loaded("gone"), emptying}}));
}

TEST(TaintClaims, KeepTaintsOfAPolicyThatHasNotPlannedYet) {
  TaintClaims claims;
  claims.register_policy("level");
  EXPECT_TRUE(claims.change_for("n1", {loaded("level")}).empty());
  EXPECT_TRUE(claims.change_for("n1", {}).empty());
  claims.claim("level", {});
  claims.register_policy("level");
  EXPECT_FALSE(claims.change_for("n1", {loaded("level")}).empty()) << "its word stands";
  claims.drop("level");
  EXPECT_FALSE(claims.change_for("n1", {loaded("level")}).empty());
}

/// The API server accepts one taint per key and effect.
TEST(TaintClaims, TheFirstOfTwoPoliciesKeepsTheNode) {
  TaintClaims claims;
  claims.claim("a", {{"n1", kLoaded, "a"}, {"n1", kEmptying, "a"}});
  claims.claim("b", {{"n1", kLoaded, "b"}});
  EXPECT_EQ(claims.change_for("n1", {loaded("b")}).add, (std::vector<Taint>{{kEmptying, "a", kPreferNoSchedule}}));
  EXPECT_TRUE(claims.change_for("n1", {loaded("b")}).remove.empty());
  EXPECT_EQ(claims.change_for("n1", {}).add, (std::vector<Taint>{{kEmptying, "a", kPreferNoSchedule}, loaded("a")}));
  claims.drop("b");
  EXPECT_EQ(claims.change_for("n1", {loaded("b")}),
            (TaintChange{{{kEmptying, "a", kPreferNoSchedule}, loaded("a")}, {loaded("b")}}));
  EXPECT_EQ(claims.nodes_of("a"), 1U);
}

TEST(TaintClaims, OfOneKeyGoByThemselves) {
  TaintClaims claims;
  claims.claim("a", {{"n1", kLoaded, "a"}, {"n1", kEmptying, "a"}});
  claims.drop("a", kEmptying);
  EXPECT_EQ(claims.change_for("n1", {{kEmptying, "a", kPreferNoSchedule}, loaded("a")}).remove,
            (std::vector<Taint>{{kEmptying, "a", kPreferNoSchedule}}));
}

TEST(TaintClaims, OfOneKeyGoAfterAFailOverToo) {
  const Taint emptying{kEmptying, "a", kPreferNoSchedule};
  TaintClaims claims;
  claims.register_policy("a");
  EXPECT_TRUE(claims.drop("a", kEmptying));
  EXPECT_FALSE(claims.drop("a", kEmptying)) << "nothing new";
  EXPECT_EQ(claims.change_for("n1", {emptying, loaded("a")}).remove, std::vector<Taint>{emptying});
  claims.register_policy("a");
  EXPECT_FALSE(claims.change_for("n1", {emptying}).empty());
  claims.claim("a", {{"n1", kEmptying, "a"}});
  EXPECT_TRUE(claims.change_for("n1", {emptying}).empty()) << "it wants them again";
}

TEST(TaintClaims, GoByTheShortenedNameOfALongPolicy) {
  const std::string name(100, 'x');
  TaintClaims claims;
  claims.claim(name, {{"n1", kLoaded, api::soft_taint_value(name)}});
  const TaintChange change = claims.change_for("n1", {});
  ASSERT_EQ(change.add.size(), 1U);
  EXPECT_LE(change.add[0].value.size(), api::kMaxLabelValue);
  EXPECT_TRUE(claims.change_for("n1", change.add).empty());
}

TEST(TaintClaims, KeepEveryOtherEntryAsItIs) {
  const Json strange = {{"key", "a"}, {"effect", "NoExecute"}, {"timeAdded", "2026-11-21T12:00:00Z"}, {"new", 1}};
  const Json ours = {{"key", kLoaded}, {"value", "level"}, {"effect", "PreferNoSchedule"}};
  const Json node = {{"spec", {{"taints", Json::array({ours, strange})}}}};
  EXPECT_THAT(taints_in(node), ElementsAre(loaded("level")));
  EXPECT_EQ(with_change(node, {{}, {loaded("level")}}), Json::array({strange}));
  EXPECT_EQ(with_change(Json{{"spec", Json::object()}}, {{loaded("level")}, {}}), Json::array({ours}));
  EXPECT_THAT(taints_in(Json{{"spec", {{"taints", Json::array({1, "x", nullptr})}}}}), IsEmpty());
}

}  // namespace taint_claims_test
}  // namespace controllers
