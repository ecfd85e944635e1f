// End-to-end scenario 12: virtual machines of KubeVirt. On the real cluster KubeVirt is test/fakes/kubevirt: real CRDs,
// a real ValidatingWebhook over TLS, an aggregated API. In the simulator it is built in. Both use the same rules.

#include <iostream>
#include <memory>
#include <optional>

#include "test/e2e/harness/process.hpp"
#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace kubevirt_test {

const std::string kVmis = "virtualmachineinstances";
const std::string kMigrations = "virtualmachineinstancemigrations";

std::string kubevirt_path(const std::string& ns, const std::string& plural, const std::string& name = {}) {
  return "/apis/kubevirt.io/v1/namespaces/" + ns + "/" + plural + (name.empty() ? "" : "/" + name);
}

/// KubeVirt for all tests of this file. Must outlive the namespaces of the tests, because it has finalizers there, and
/// its webhook fails closed.
class Installation {
 public:
  Installation(const Api& api, const std::filesystem::path& kubeconfig, const std::filesystem::path& folder)
      : api_(api) {
    try {
      start(kubeconfig, folder);
    } catch (...) {
      remove_ways_in();  // the webhook fails closed: without KubeVirt no pod of the cluster could be evicted
      throw;
    }
  }
  ~Installation() {
    try {
      await("the migrations to be gone",
            [&](std::string&) { return api_.list("/apis/kubevirt.io/v1/" + kMigrations).empty(); });
    } catch (const std::exception& e) {
      std::cout << e.what() << std::endl;  // the webhook, which fails closed, must be removed in any case
    }
    try {
      uninstall();
    } catch (const std::exception& e) {
      std::cout << "uninstalling KubeVirt: " << e.what() << std::endl;
    }
  }
  Installation(const Installation&) = delete;
  Installation& operator=(const Installation&) = delete;

 private:
  void start(const std::filesystem::path& kubeconfig, const std::filesystem::path& folder) {
    Process::Options options;
    options.argv = {EVACUATOR_FAKE_KUBEVIRT, "--kubeconfig", kubeconfig.string()};
    options.log = folder / "kubevirt.log";
    options.with_input = true;
    child_.emplace(options);
    await("KubeVirt to be ready", [&](std::string& seen) {
      seen = read_file(child_->log());
      if (!child_->running()) throw Failure("the fake KubeVirt ended:\n" + seen);
      return seen.find("ready on ") != std::string::npos;
    });
    await("the aggregated API", [&](std::string& seen) {
      seen = api_.request("GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1.subresources.kubevirt.io").body;
      return api_.request("GET", "/apis/subresources.kubevirt.io/v1").code == 200;
    });
  }

  void remove_ways_in() const {
    api_.remove("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/virt-api-validator");
    api_.remove("/apis/apiregistration.k8s.io/v1/apiservices/v1.subresources.kubevirt.io");
  }
  void uninstall() const {
    remove_ways_in();
    for (const std::string& plural : {kVmis, kMigrations, std::string("kubevirts")}) {
      const std::string definition =
          "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + plural + ".kubevirt.io";
      api_.remove(definition);
      await(plural + " to be unknown again", [&](std::string&) { return !api_.find(definition); });
    }
  }

  const Api api_;
  std::optional<Process> child_;
};

class VirtualMachines : public Scenario {
 protected:
  static void TearDownTestSuite() { installation_.reset(); }

  void SetUp() override {
    if (installation_ || installed_) return;
    if (cluster().name() == "real") {
      installation_ = std::make_unique<Installation>(api(), cluster().admin_kubeconfig(), folder());
    } else {
      api().create("/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts",
                   {{"apiVersion", "kubevirt.io/v1"},
                    {"kind", "KubeVirt"},
                    {"metadata", {{"name", "kubevirt"}, {"namespace", "kubevirt"}}},
                    {"spec", Json::object()}});
    }
    if (cluster().has_rbac())
      kubectl()({"apply", "-f", EVACUATOR_SOURCE_DIR "/config/optional/kubevirt-migrations.yaml"});
    installed_ = true;
  }

  /// Starts a VM whose migrations follow `script`. Returns its pod.
  PodInfo start_machine(const std::string& name, const std::string& script) const {
    api().create(
        kubevirt_path(ns(), kVmis),
        {{"apiVersion", "kubevirt.io/v1"},
         {"kind", "VirtualMachineInstance"},
         {"metadata",
          {{"name", name},
           {"namespace", ns()},
           {"labels", {{"app", name}}},
           {"annotations",
            {{"simulator.evacuator.dev/migration", script}, {"kubevirt.io/latest-observed-api-version", "v1"}}}}},
         {"spec",
          {{"evictionStrategy", "LiveMigrate"},
           {"terminationGracePeriodSeconds", 1},
           {"domain", {{"memory", {{"guest", "32Mi"}}}}}}}});
    const PodInfo pod = await_pods(ns(), name, 1).front();
    await("VM " + name + " to run", [&](std::string& seen) {
      const Json vmi = machine(name);
      seen = vmi.dump();
      return text_at(vmi, "/status/phase") == "Running";
    });
    return pod;
  }

  Json machine(const std::string& name) const { return api().get(kubevirt_path(ns(), kVmis, name)); }
  std::string mark(const std::string& name) const { return text_at(machine(name), "/status/evacuationNodeName"); }
  std::vector<Json> migrations() const { return api().list(kubevirt_path(ns(), kMigrations)); }
  std::size_t unfinished_migrations() const {
    std::size_t count = 0;
    for (const Json& each : migrations()) {
      const std::string phase = text_at(each, "/status/phase");
      count += phase != "Succeeded" && phase != "Failed";
    }
    return count;
  }
  std::string pod_phase(const PodInfo& pod) const {
    return text_at(api().get(path::pods(pod.ns, pod.name)), "/status/phase");
  }
  void await_migration(const std::string& phase) const {
    await("a migration in phase " + phase, [&](std::string& seen) {
      seen.clear();
      bool found = false;
      for (const Json& each : migrations()) {
        seen += text_at(each, "/status/phase") + " ";
        found = found || text_at(each, "/status/phase") == phase;
      }
      return found;
    });
  }
  void await_eviction_call(const PodInfo& pod, const std::string& name, const Operator& op) const {
    await("the call of the eviction", [&](std::string& seen) {
      seen = summary(evacuation(ns(), name)) + "\n" + op.log_tail();
      return !eviction_codes(pod).empty();
    });
  }
  /// Expects the VM "db" on another node, without leftovers of the move.
  void expect_moved(const PodInfo& pod, const Json& done) {
    EXPECT_EQ(phase_of(done), "Succeeded") << summary(done);
    EXPECT_EQ(text_at(done, "/status/reason"), "Migrated") << summary(done);
    const std::string node = text_at(machine("db"), "/status/nodeName");
    EXPECT_NE(node, pod.node);
    EXPECT_EQ(text_at(done, "/status/outcome/replacement/node"), node) << done.at("status").dump(2);
    await("the pod left behind to end", [&](std::string& seen) {
      seen = pod_phase(pod);
      return seen == "Succeeded";
    });
    EXPECT_EQ(mark("db"), "");
    expect_no_misdeeds();
  }

  /// Expects the VM on its original node, without leftovers of the attempt.
  void expect_stayed(const PodInfo& pod, const Json& done) const {
    EXPECT_EQ(text_at(condition(done, "RollbackComplete"), "/reason"), "Complete") << done.at("status").dump(2);
    EXPECT_EQ(mark("db"), "");
    EXPECT_EQ(unfinished_migrations(), 0U);
    EXPECT_EQ(pod_phase(pod), "Running");
    EXPECT_EQ(text_at(machine("db"), "/status/phase"), "Running");
    EXPECT_EQ(text_at(machine("db"), "/status/nodeName"), pod.node);
    expect_no_misdeeds();
  }
  /// Returns the server's answers to evictions of this pod.
  std::vector<int> eviction_codes(const PodInfo& pod) const {
    std::vector<int> codes;
    for (const PodCall& call : pod_calls()) {
      if (call.kind == PodCall::Kind::kEvict && call.pod == pod.name) codes.push_back(call.code);
    }
    return codes;
  }
  static Json patiently() {
    return {{"retry", {{"maxAttempts", 1}}}, {"timeouts", {{"totalSeconds", 300}, {"abortSeconds", 60}}}};
  }
  /// Uses a VirtualMachineInstanceMigration created by the operator.
  static Json by_migration() {
    Json spec = patiently();
    spec["evictors"] = Json::array({{{"name", "kubevirt"}, {"parameters", {{"mode", "Migration"}}}}});
    return spec;
  }

 private:
  static std::unique_ptr<Installation> installation_;
  static bool installed_;
};
std::unique_ptr<Installation> VirtualMachines::installation_;
bool VirtualMachines::installed_ = false;

TEST_F(VirtualMachines, LeaveByLiveMigrationThroughTwoCrashes) {
  const PodInfo pod = start_machine("db", "run=8s");
  Operator& op = start_operator();
  const std::string name = evacuate(pod, patiently());
  await_eviction_call(pod, name, op);
  op.crash();
  await_migration("Running");
  op.crash();
  const Json done = await_phase(ns(), name, kFinished);

  expect_moved(pod, done);
  EXPECT_EQ(text_at(done, "/status/evictor"), "kubevirt");
  EXPECT_EQ(eviction_codes(pod), std::vector<int>{429}) << "KubeVirt's yes through the API server, asked for once";
  EXPECT_EQ(migrations().size(), 1U);
}

TEST_F(VirtualMachines, StayWhenTheirMigrationsAlwaysFailAlsoThroughACrash) {
  const PodInfo pod =
      start_machine("db", "scheduled=0s, preparing=0s, ready=0s, run=1s, fail=always, reason=disk full");
  Operator& op = start_operator();
  Json spec = patiently();
  spec["evictors"] = Json::array({{{"name", "kubevirt"}, {"parameters", {{"remoteFailures", "2"}}}}});
  const std::string name = evacuate(pod, spec);
  await_migration("Failed");
  op.crash();
  const Json done = await_phase(ns(), name, kFinished, std::chrono::seconds(180));

  EXPECT_EQ(phase_of(done), "Failed") << summary(done);
  EXPECT_EQ(text_at(done, "/status/reason"), "MigrationFailed") << summary(done);
  EXPECT_NE(text_at(done, "/status/message").find("disk full"), std::string::npos) << summary(done);
  EXPECT_EQ(eviction_codes(pod), std::vector<int>{429}) << "asked once";
  expect_stayed(pod, done);
}

TEST_F(VirtualMachines, StayWhenTheEvacuationIsCancelledAlsoThroughACrash) {
  const PodInfo pod = start_machine("db", "run=600s, abort=4s");
  Operator& op = start_operator();
  const std::string name = evacuate(pod, patiently());
  await_migration("Running");
  api().merge(path::evacuations(ns(), name), {{"spec", {{"cancel", {{"requested", true}}}}}});
  await("the mark to be taken off", [&](std::string& seen) {
    seen = machine("db").at("status").dump() + "\n" + op.log_tail();
    return mark("db").empty();
  });
  op.crash();
  const Json done = await_phase(ns(), name, kFinished);

  EXPECT_EQ(phase_of(done), "Cancelled") << summary(done);
  expect_stayed(pod, done);
}

TEST_F(VirtualMachines, LeaveByAMigrationOfOurOwnThroughTwoCrashes) {
  const PodInfo pod = start_machine("db", "run=8s");
  Operator& op = start_operator();
  const std::string name = evacuate(pod, by_migration());
  await("our migration", [&](std::string& seen) {
    seen = summary(evacuation(ns(), name)) + "\n" + op.log_tail();
    return !migrations().empty();
  });
  op.crash();
  await_migration("Running");
  op.crash();
  const Json done = await_phase(ns(), name, kFinished);

  expect_moved(pod, done);
  EXPECT_EQ(text_at(done, "/status/adapter"), "migration");
  EXPECT_TRUE(eviction_codes(pod).empty()) << "no eviction is asked for";
  ASSERT_EQ(migrations().size(), 1U) << "its name is fixed: a crash makes no second one";
  EXPECT_EQ(text_at(migrations()[0], "/metadata/name"), "evac-" + text_at(done, "/metadata/uid") + "-1");
}

TEST_F(VirtualMachines, StayWhenAMigrationOfOurOwnIsCancelledAlsoThroughACrash) {
  const PodInfo pod = start_machine("db", "run=600s, abort=4s");
  Operator& op = start_operator();
  const std::string name = evacuate(pod, by_migration());
  await_migration("Running");
  api().merge(path::evacuations(ns(), name), {{"spec", {{"cancel", {{"requested", true}}}}}});
  await("our migration to be told to end", [&](std::string& seen) {
    seen = summary(evacuation(ns(), name)) + "\n" + op.log_tail();
    const auto all = migrations();
    return all.empty() || all[0].at("metadata").contains("deletionTimestamp");
  });
  op.crash();
  const Json done = await_phase(ns(), name, kFinished);

  EXPECT_EQ(phase_of(done), "Cancelled") << summary(done);
  EXPECT_TRUE(eviction_codes(pod).empty());
  expect_stayed(pod, done);
}

}  // namespace kubevirt_test
}  // namespace e2e
