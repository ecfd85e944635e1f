/// The operator's signing keys are in a Secret of its namespace. Without them it creates nothing.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"
#include "api/meta/condition.hpp"
#include "controllers/operator/operator.hpp"
#include "kube/runtime/events.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

namespace signing_keys_test {

using api::Json;
using base::seconds;
using testing::HasSubstr;

constexpr const char* kUs = "system:serviceaccount:evacuator-system:evacuator";

/// One process with the keys of the Secret and its own clock.
struct Process {
  Process(simulator::ApiServer& server, const base::Clock& clock, const std::string& identity, bool may_read_secrets)
      : transport(server, {kUs, {}, "evacuator"}),
        client(transport, nullptr),
        events(client, clock, kube::EventOptions{.instance = identity}, {}),
        keys(client, clock, {.ns = "evacuator-system"}, {}) {
    transport.lie = [may_read_secrets](const kube::Request& request) -> std::optional<kube::Response> {
      if (may_read_secrets || request.path.find("/secrets") == std::string::npos) return std::nullopt;
      const Json body = {{"kind", "Status"},
                         {"status", "Failure"},
                         {"code", 403},
                         {"reason", "Forbidden"},
                         {"message", "secrets \"evacuator-signing\" is forbidden"}};
      return kube::Response{403, body.dump(), {}, "application/json"};
    };
    const auto discovery = kube::discover(client);
    EXPECT_TRUE(discovery) << discovery.error().message;
    op.emplace(controllers::Operator::Dependencies{.client = client,
                                                   .clock = clock,
                                                   .discovery = *discovery,
                                                   .config = {},
                                                   .identity = identity,
                                                   .may_act = [this] { return leads; },
                                                   .events = events,
                                                   .metrics = metrics,
                                                   .log = {},
                                                   .keys = keys});
  }

  bool leads = true;
  fakes::MortalTransport transport;
  kube::Client client;
  base::Metrics metrics;
  kube::EventRecorder events;
  controllers::SecretKeys keys;
  std::optional<controllers::Operator> op;
};

class SigningKeys : public integration::Rig {
 protected:
  void begin(int replicas = 2) {
    add(simulator::objects::name_space("evacuator-system"));
    stage(replicas);
    run_for(seconds(60));
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "fresh"}}},
         {"spec",
          {{"mode", "Manual"},
           {"schedule", {{"interval", "1m"}}},
           {"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 30}}}}})}}}});
  }
  void start(bool may_read_secrets = true) {
    process = std::make_unique<Process>(*server, own_clock, "replica-1", may_read_secrets);
  }
  void drive(base::Duration time) {
    const base::TimePoint end = clock.now() + time;
    for (;;) {
      own_clock.set(clock.now() + ahead);
      for (bool busy = true; busy;) busy = !cluster->run_until_quiet() || process->op->step();
      process->events.drain();
      if (clock.now() >= end) return;
      cluster->advance(std::min<base::Duration>(seconds(1), end - clock.now()));
    }
  }
  std::string told(const char* type) const {
    const api::Condition found = policy_condition("fresh", type);
    return found.status == api::ConditionStatus::kTrue ? found.message : "";
  }
  std::vector<api::Evacuation> made() const {
    std::vector<api::Evacuation> all;
    for (const auto& each : cluster->store().list(kube::kEvacuations, "shop"))
      all.push_back(*api::decode_evacuation(*each));
    return all;
  }

  base::Duration ahead{0};
  base::ManualClock own_clock{integration::kNoon};
  std::unique_ptr<Process> process;
};

TEST_F(SigningKeys, AreCreatedAtTheFirstStartAndUsed) {
  begin();
  start();
  drive(seconds(30));
  EXPECT_TRUE(cluster->store().get({"", "v1", "secrets", "Secret"}, {"evacuator-system", "evacuator-signing"}));
  EXPECT_TRUE(process->op->ready());
  ASSERT_EQ(made().size(), 2U);
  for (const auto& each : made()) {
    EXPECT_TRUE(api::origin_is_verified(each)) << each.meta.name;
    EXPECT_THAT(each.meta.annotations.value("evacuator.dev/origin"),
                HasSubstr("v1." + process->keys.keys()->current.id() + "."));
  }
}

TEST_F(SigningKeys, OfAnEarlierProcessProveItsEvacuations) {
  begin();
  start();
  drive(seconds(1));
  ASSERT_EQ(made().size(), 2U);
  start();
  drive(seconds(30));
  for (const auto& each : made()) EXPECT_TRUE(api::origin_is_verified(each)) << each.meta.name;
}

TEST_F(SigningKeys, ThatCannotBeReadStopThePoliciesAndAreReported) {
  begin();
  start(false);
  drive(seconds(90));
  EXPECT_TRUE(made().empty()) << "nothing that it cannot sign";
  EXPECT_THAT(told("Degraded"), HasSubstr("signing keys in Secret evacuator-system/evacuator-signing: "));
  EXPECT_THAT(told("Degraded"), HasSubstr("is forbidden"));
  const auto ready = process->op->ready();
  ASSERT_FALSE(ready);
  EXPECT_THAT(ready.error().message, HasSubstr("evacuator-signing"));
}

TEST_F(SigningKeys, UnreadableKeysLeaveSignedOriginsUndecidedAndManualOnesUnchanged) {
  begin();
  start();
  drive(seconds(1));
  const auto before = made();
  ASSERT_EQ(before.size(), 2U);
  for (const auto& each : before)
    edit(kube::kEvacuations, each.meta.name, [](Json& object) { object.erase("status"); });
  start(false);
  drive(seconds(60));
  for (const auto& each : made())
    EXPECT_EQ(api::find_condition(each.status.conditions, std::string_view("OriginVerified")), nullptr)
        << "that it is ours must not be denied for want of a key";
}

TEST_F(SigningKeys, ClocksThatDifferAreReported) {
  begin();
  ahead = seconds(45);
  start();
  drive(seconds(90));
  EXPECT_THAT(told("Warnings"), HasSubstr("the API server's clock is 44s behind the operator's"));
  ASSERT_EQ(made().size(), 2U);
  for (const auto& each : made()) EXPECT_TRUE(api::origin_is_verified(each)) << "it still counts";
}

TEST_F(SigningKeys, ClocksThatDifferTooMuchStopThePoliciesAfterTheFirst) {
  begin();
  ahead = seconds(600);
  start();
  drive(seconds(30));
  EXPECT_EQ(made().size(), 1U);
  EXPECT_THAT(told("Degraded"), HasSubstr("no more Evacuations are created: the API server's clock is"));
}

}  // namespace signing_keys_test
