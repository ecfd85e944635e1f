#include "test/integration/evictors/switchover_scenarios_fixture.hpp"

/// Primaries whose owner did not opt in, under each operator.
namespace switchover_scenarios_test {

using namespace switchover_scenarios_fixture;

/// The budgets that the operators create themselves. Without any, only this evictor protects the primary.
class UnaskedPrimary : public Switchover {
 protected:
  void expect_kept() {
    const std::string name = begin_plain_evacuation();
    expect_end(name, Phase::kFailed, "NotEvictable", "set parameter switchover to \"true\"");
    EXPECT_TRUE(evictions().empty());
    delete_evacuation(name);
    settle();
  }
  void expect_kept_by_any_of(const std::vector<Json>& budgets) {
    remove_budgets();
    expect_kept();
    for (const Json& match : budgets) {
      SCOPED_TRACE(match.dump());
      add_budget("of-the-operator", match);
      run_for(seconds(10));
      expect_kept();
      remove_budgets();
    }
  }
};

TEST_F(UnaskedPrimary, OfCloudNativePgStays) {
  cloudnative_pg();
  expect_kept_by_any_of(
      {{{"cnpg.io/cluster", "db"}, {"cnpg.io/instanceRole", "primary"}}, {{"cnpg.io/cluster", "db"}}});
}

TEST_F(UnaskedPrimary, OfEdbStays) {
  begin("k8s.enterprisedb.io/instanceRole", "primary", {{"k8s.enterprisedb.io/cluster", "db"}});
  expect_kept_by_any_of({{{"k8s.enterprisedb.io/cluster", "db"}}});
}

TEST_F(UnaskedPrimary, OfZalandoStays) {
  zalando();
  expect_kept_by_any_of({{{"cluster-name", "db"}, {"spilo-role", "master"}}});
}

TEST_F(UnaskedPrimary, OfPgoAndPerconaStays) {
  crunchy({{"enabled", true}});
  expect_kept_by_any_of({{{kPgoPrefix + "cluster", "db"}}});
}

TEST_F(UnaskedPrimary, BetweenTwoRolesStays) {
  begin("spilo-role", "master", {{"cluster-name", "db"}, {"application", "spilo"}});
  remove_budgets();
  edit(kube::kPods, "pg-0", [](Json& pod) { pod["metadata"]["labels"].erase("spilo-role"); });
  const auto began = clock.now();
  expect_end(begin_plain_evacuation(), Phase::kFailed, "NotEvictable", "no role in its cluster");
  EXPECT_LE(clock.now() - began, seconds(70)) << "a slot is not held for what was never asked";
  EXPECT_TRUE(evictions().empty());
}

TEST_F(UnaskedPrimary, KeepsTheHintWhereOnlyTheEvictionApiIsNamed) {
  cloudnative_pg();
  const std::string name = evacuate("pg-0", [](Json& spec) {
    spec["evictors"] = Json::array({{{"name", "eviction-api"}}});
  });
  ASSERT_TRUE(run_until([&] { return condition(name, "Progressing") == "PDBNeverAllows"; }, seconds(60)));
  const std::string said = get(name).status.message;
  EXPECT_NE(said.find("switchover"), std::string::npos) << said;
  EXPECT_EQ(said.find("maxUnavailable"), std::string::npos) << "that would let the primary go: " << said;
  cancel(name);
}

TEST_F(UnaskedPrimary, IsNoPoolerAndNoJob) {
  cloudnative_pg();
  remove_budgets();
  edit(kube::kPods, "pg-0", [](Json& pod) {
    Json& labels = pod["metadata"]["labels"];
    labels.erase("cnpg.io/instanceRole");
    labels["cnpg.io/podRole"] = "pooler";
    labels["cnpg.io/poolerName"] = "rw";
  });
  const std::string name = begin_plain_evacuation();
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(get(name).status.evictor, "eviction-api");
}

}  // namespace switchover_scenarios_test
