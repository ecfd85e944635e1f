// End-to-end scenario 1: the CRDs apply, kubectl shows the columns, an invalid policy is rejected with the field's
// path.

#include <algorithm>

#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace crds_test {

using Titles = std::vector<std::string>;

class Crds : public Scenario {
 protected:
  Finished validate(const std::vector<std::string>& files) const {
    std::vector<std::string> argv{EVACUATOR_BINARY, "validate"};
    argv.insert(argv.end(), files.begin(), files.end());
    return run(argv);
  }
};

Json utilization_policy(const std::string& name, int cpu) {
  const Json strategy = {{"name", "LowNodeUtilization"},
                         {"args", {{"thresholds", {{"cpu", 20}}}, {"targetThresholds", {{"cpu", cpu}}}}}};
  return {{"apiVersion", "evacuator.dev/v1alpha1"},
          {"kind", "DeschedulerPolicy"},
          {"metadata", {{"name", name}}},
          {"spec", {{"schedule", {{"interval", "5s"}}}, {"strategies", Json::array({strategy})}}}};
}

TEST_F(Crds, EvacuationsShowTheirColumns) {
  api().create(path::evacuations(ns()), manifest::evacuation(ns(), "by-hand", "web-1", {}, {{"suspend", true}}));

  const std::string plain = kubectl()({"get", "evacuations", "-n", ns()});
  const std::string wide = kubectl()({"get", "evac", "-n", ns(), "-o", "wide"});

  EXPECT_EQ(table_titles(plain), (Titles{"NAME", "POD", "NODE", "EVICTOR", "PHASE", "PROGRESS", "TARGET", "AGE"}))
      << plain;
  Titles titles = table_titles(wide);
  for (const char* title : {"REASON", "BLOCKED-BY", "DEADLINE", "ATTEMPT", "REQUESTER"}) {
    EXPECT_NE(std::find(titles.begin(), titles.end(), title), titles.end()) << title << " is missing in:\n" << wide;
  }
  EXPECT_EQ(parse_table(plain).at(0).at("POD"), "web-1") << plain;
}

TEST_F(Crds, PoliciesShowTheirColumns) {
  apply_policy(utilization_policy(ns(), 60));

  const std::string table = kubectl()({"get", "dsp", ns()});

  EXPECT_EQ(table_titles(table),
            (Titles{"NAME", "MODE", "READY", "NODES", "NOMINATED", "ACTIVE", "EVICTED", "LAST CYCLE", "NEXT", "AGE"}))
      << table;
  EXPECT_EQ(parse_table(table).at(0).at("MODE"), "DryRun") << "the default of spec.mode is missing:\n" << table;
}

TEST_F(Crds, ResourceAdvicesShowTheirColumnsAndKeepNoStatusOfACreate) {
  const std::string all = "/apis/evacuator.dev/v1alpha1/namespaces/" + ns() + "/resourceadvices";
  const Json status = {{"workloadText", "Deployment/web"},
                       {"containerCount", 2},
                       {"cpuText", "500m → 250m"},
                       {"memoryText", "1024Mi → 386Mi"},
                       {"confidence", "Medium"}};
  api().create(all, {{"apiVersion", "evacuator.dev/v1alpha1"},
                     {"kind", "ResourceAdvice"},
                     {"metadata", {{"name", "deployment-web"}, {"namespace", ns()}}},
                     {"status", status}});

  const std::string before = kubectl()({"get", "resourceadvices", "-n", ns()});
  EXPECT_EQ(before.find("250m"), std::string::npos) << "whoever may create one forges no figures:\n" << before;
  api().merge(all + "/deployment-web/status", {{"status", status}});
  const std::string plain = kubectl()({"get", "advice", "-n", ns()});

  EXPECT_EQ(table_titles(plain), (Titles{"NAME", "WORKLOAD", "CONTAINERS", "CPU", "MEMORY", "CONFIDENCE", "AGE"}))
      << plain;
  EXPECT_NE(plain.find("500m → 250m"), std::string::npos) << plain;
  EXPECT_NE(plain.find("1024Mi → 386Mi"), std::string::npos) << plain;
}

TEST_F(Crds, TheServerRejectsABadPolicyWithTheFieldsPath) {
  const std::map<std::string, Json> bad = {
      {"spec.mode", {{"spec", {{"mode", "Sometimes"}}}}},
      {"spec.schedule.interval", {{"spec", {{"schedule", {{"interval", "soon"}}}}}}},
      {"spec.limits.perCycle.total", {{"spec", {{"limits", {{"perCycle", {{"total", -1}}}}}}}}},
      {"spec.evacuation.retry.maxAttempts", {{"spec", {{"evacuation", {{"retry", {{"maxAttempts", 0}}}}}}}}}};
  for (const auto& [field, change] : bad) {
    Json policy = utilization_policy(ns(), 60);
    policy.merge_patch(change);
    const Finished done = kubectl().attempt({"apply", "-f", "-"}, policy.dump());
    EXPECT_NE(done.exit_code, 0) << field << " was accepted";
    EXPECT_NE(done.err.find(field), std::string::npos) << field << " is not named in: " << done.err;
  }
  EXPECT_FALSE(api().find(path::policies(ns()))) << "a rejected policy was stored";
}

TEST_F(Crds, TheOperatorRejectsSemanticErrorsAndAcceptsTheCorrection) {
  start_operator();
  const auto await_ready = [&](const std::string& status) {
    return await("Ready to be " + status, [&](std::string& seen) -> std::optional<Json> {
      Json ready = condition(api().get(path::policies(ns())), "Ready");
      seen = ready.dump();
      if (text_at(ready, "/status") != status) return std::nullopt;
      return ready;
    });
  };
  apply_policy(utilization_policy(ns(), 120));

  const std::string message = text_at(await_ready("False"), "/message");
  EXPECT_NE(message.find("spec.strategies[0].args.targetThresholds.cpu: 120 is above 100"), std::string::npos)
      << message;

  kubectl().apply(utilization_policy(ns(), 60));
  await_ready("True");
}

TEST_F(Crds, ValidateNamesTheFieldAndPassesTheSamples) {
  const auto bad = folder() / "bad.json";
  write_file(bad, utilization_policy("bad", 120).dump());

  const Finished refused = validate({bad.string()});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_NE((refused.out + refused.err).find("spec.strategies[0].args.targetThresholds.cpu: 120 is above 100"),
            std::string::npos)
      << refused.out << refused.err;

  const std::string samples = std::string(EVACUATOR_SOURCE_DIR) + "/config/samples/";
  const Finished passed = validate(
      {samples + "policy-podlifetime.yaml", samples + "policy-lownodeutilization.yaml", samples + "evacuation.yaml"});
  EXPECT_EQ(passed.exit_code, 0) << passed.out << passed.err;
}

TEST_F(Crds, TheSamplesApply) {
  std::vector<std::string> files;
  for (const char* name :
       {"policy-podlifetime", "policy-lownodeutilization", "policy-highnodeutilization", "policy-removeduplicates",
        "policy-toomanyrestarts", "policy-interpodantiaffinity", "policy-nodeaffinity", "policy-nodetaints",
        "policy-scheduled", "policy-gated", "statefulset", "evacuation", "handoff-deployment"}) {
    files.push_back("--filename=" + std::string(EVACUATOR_SOURCE_DIR) + "/config/samples/" + name + ".yaml");
  }
  const auto all = [&](std::vector<std::string> command) {
    command.insert(command.end(), files.begin(), files.end());
    return kubectl()(command);
  };
  all({"apply"});

  const std::string removed = all({"delete"});
  for (const char* name : {"renew-daily", "spread-load", "pack-batch", "spread-replicas", "crash-loops", "keep-apart",
                           "right-nodes", "respect-taints", "web-1-by-hand", "\"database\""}) {
    EXPECT_NE(removed.find(name), std::string::npos) << name << " was not there: " << removed;
  }
}

TEST_F(Crds, TheWholeOfConfigApplies) {
  if (!cluster().has_rbac()) GTEST_SKIP() << "the simulator serves no RBAC kinds";
  const Json client = Json::parse(kubectl()({"version", "--client", "-o", "json"}));
  if (std::stoi(text_at(client, "/clientVersion/minor")) < 21) GTEST_SKIP() << "this kubectl's kustomize is too old";
  const std::string applied =
      kubectl()({"apply", "--dry-run=server", "-k",
                 std::string(EVACUATOR_SOURCE_DIR) + "/" + std::string(cluster().everything())});
  for (const char* object : {"deployment.apps/evacuator", "clusterrole.rbac.authorization.k8s.io/evacuator-operator",
                             "poddisruptionbudget.policy/evacuator", "configmap/evacuator-config-"}) {
    EXPECT_NE(applied.find(object), std::string::npos) << object << " is missing in:\n" << applied;
  }
}

TEST_F(Crds, TheServiceAccountMayDoItsWorkAndNoMore) {
  if (!cluster().has_rbac()) GTEST_SKIP() << "the simulator has no authorization";
  const auto allowed = [&](const std::string& verb, const std::string& resource, const std::string& subresource = {},
                           const std::string& where = "default") {
    std::vector<std::string> question{
        "auth", "can-i", verb, resource, "-n", where, "--as=" + cluster().operator_user()};
    if (!subresource.empty()) question.push_back("--subresource=" + subresource);
    return kubectl().attempt(question).exit_code == 0;
  };
  struct Permission {
    const char* verb;
    const char* resource;
    const char* subresource = "";
  };
  constexpr Permission kMay[] = {{"list", "pods"},
                                 {"patch", "pods"},
                                 {"create", "pods", "eviction"},
                                 {"patch", "evacuations.evacuator.dev", "status"},
                                 {"watch", "deschedulerpolicies.evacuator.dev"},
                                 {"create", "events.events.k8s.io"}};
  constexpr Permission kMayNot[] = {{"delete", "pods"},          {"deletecollection", "pods"},
                                    {"create", "pods"},          {"update", "pods"},
                                    {"patch", "pods", "status"}, {"patch", "nodes"},
                                    {"get", "secrets"},          {"update", "deschedulerpolicies.evacuator.dev"},
                                    {"create", "leases"}};
  for (const auto& [verb, resource, sub] : kMay)
    EXPECT_TRUE(allowed(verb, resource, sub)) << verb << " " << resource << "/" << sub;
  for (const auto& [verb, resource, sub] : kMayNot)
    EXPECT_FALSE(allowed(verb, resource, sub)) << verb << " " << resource << "/" << sub;
  EXPECT_TRUE(allowed("create", "leases", {}, "evacuator-system"));
  EXPECT_TRUE(allowed("update", "leases/evacuator", {}, "evacuator-system"));
  EXPECT_FALSE(allowed("update", "leases/another", {}, "evacuator-system"));
  EXPECT_TRUE(allowed("get", "secrets/evacuator-signing", {}, "evacuator-system"));
  EXPECT_FALSE(allowed("get", "secrets/another", {}, "evacuator-system"));
}

}  // namespace crds_test
}  // namespace e2e
