// Evacuator is installed twice. The test acts as the first installation: it holds the Lease by which the second one
// detects it.

#include <atomic>
#include <ctime>
#include <thread>

#include "test/e2e/harness/admission_scenario.hpp"

namespace e2e {
namespace two_installations_test {

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

std::string micro_time(int count) {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return std::string(text) + "." + std::to_string(100'000 + count % 900'000) + "Z";
}

/// Holds the Lease during its lifetime.
class FirstInstallation {
 public:
  explicit FirstInstallation(const Api& api) : api_(api) {
    api_.remove(lease());
    api_.create(
        kLeases,
        {{"apiVersion", "coordination.k8s.io/v1"},
         {"kind", "Lease"},
         {"metadata", {{"name", "evacuator-operator"}, {"namespace", "kube-system"}}},
         {"spec",
          {{"holderIdentity", "platform/evacuator"}, {"leaseDurationSeconds", 20}, {"renewTime", micro_time(0)}}}});
    renewing_ = std::thread([this] {
      for (int i = 1; !gone_; ++i) {
        api_.merge(lease(), {{"spec", {{"renewTime", micro_time(i)}}}});
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
      }
    });
  }
  ~FirstInstallation() { go(); }

  /// Stops renewing the Lease.
  void go() {
    gone_ = true;
    if (renewing_.joinable()) renewing_.join();
  }

  static std::string lease() { return path::leases("kube-system", "evacuator-operator"); }

 private:
  const Api& api_;
  std::atomic<bool> gone_ = false;
  std::thread renewing_;
};

class TwoInstallations : public Scenario {
 protected:
  ~TwoInstallations() override { api().remove(FirstInstallation::lease()); }

  std::string holder() const {
    const auto lease = api().find(FirstInstallation::lease());
    return lease ? text_at(*lease, "/spec/holderIdentity") : "none";
  }
  bool has_event(const std::string& reason) const {
    for (const Json& each : api().list("/apis/events.k8s.io/v1/namespaces/evacuator-system/events")) {
      if (text_at(each, "/reason") == reason) return true;
    }
    return false;
  }
};

TEST_F(TwoInstallations, TheSecondStaysOutUntilTheFirstIsGone) {
  FirstInstallation first(api());
  const auto pods = deploy({.ns = ns(), .name = "web", .replicas = 2});
  Operator& second = start_operator({.identity = "second", .leader_election = true}, false);
  const std::string name = evacuate(pods.front());
  const auto says_others = [&](std::string& seen) {
    seen = second.log_tail();
    return second.metrics().find("evacuator_cluster_claim{state=\"others\"} 1") != std::string::npos;
  };
  await("the second one to notice the first", says_others);
  await("an Event that says so", [&](std::string&) { return has_event("AnotherOperator"); });
  EXPECT_NE(second.log_tail().find("platform/evacuator"), std::string::npos);
  EXPECT_EQ(phase_of(evacuation(ns(), name)), "") << "nobody has touched it";
  EXPECT_EQ(holder(), "platform/evacuator");

  const auto start = std::chrono::steady_clock::now();
  first.go();
  second.await_ready();
  const auto took = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
  note("taken over " + std::to_string(took.count()) + " s after the last renewal");
  EXPECT_GE(took.count(), 15) << "the first one might have been slow only";
  EXPECT_EQ(holder(), "evacuator-system/evacuator");
  await_phase(ns(), name, kFinished);
  EXPECT_TRUE(has_event("ClusterClaimed"));
  expect_evicted({pods.front()});
}

/// The Lease does not exist yet. The operator creates it with the rights of config/rbac.
TEST_F(TwoInstallations, ASingleInstallationCreatesTheLease) {
  api().remove(FirstInstallation::lease());
  Operator& only = start_operator({.identity = "only", .leader_election = true});
  await("the Lease", [&](std::string& seen) {
    seen = holder() + "\n" + only.log_tail();
    return holder() == "evacuator-system/evacuator";
  });
  EXPECT_NE(only.metrics().find("evacuator_cluster_claim{state=\"ours\"} 1"), std::string::npos);
}

/// The webhook of a passive installation is unavailable, which must not block requests.
class SecondAdmissionWebhook : public AdmissionScenario {
 protected:
  ~SecondAdmissionWebhook() override { api().remove(FirstInstallation::lease()); }

  std::string creator_of(const std::string& name) const {
    return text_at(evacuation(ns(), name), "/metadata/annotations/evacuator.dev~1creator");
  }
};

TEST_F(SecondAdmissionWebhook, HoldsNothingUpUntilItsInstallationServesTheCluster) {
  FirstInstallation first(api());
  const auto pods = deploy({.ns = ns(), .name = "web", .replicas = 2});
  const std::uint16_t port = free_port();
  Operator::Settings settings = serving_at(port);
  settings.leader_election = true;
  Operator& second = start_operator(settings, false);
  call(free_port());  // unused port, since a Service has no endpoint for a pod that is not Ready
  const Json object = manifest::evacuation(ns(), "early", pods[0].name, pods[0].uid);
  await("an Evacuation to be made", [&](std::string& seen) {
    const Finished done = apply(object);
    seen = done.err + second.log_tail();
    return done.ok();
  });
  EXPECT_EQ(creator_of("early"), "");

  call(port);
  first.go();
  second.await_ready();
  await_trust(second);
  int count = 0;
  await("the creator of an Evacuation to be recorded", [&](std::string& seen) {
    const std::string name = "late-" + std::to_string(count++);
    Json late = manifest::evacuation(ns(), name, pods[1].name, pods[1].uid);
    late["spec"]["suspend"] = true;
    const Finished done = apply(late);
    seen = done.err + api().get(mutating()).dump() + second.log_tail();
    return done.ok() && !creator_of(name).empty();
  });
}

}  // namespace two_installations_test
}  // namespace e2e
