#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "controllers/operator/services_config.hpp"
#include "test/fakes/webhook_service.hpp"
#include "test/integration/rig/rig.hpp"

/// The evictor webhook against the example service, correct and misbehaving: every run ends within its timeout with a
/// named reason, and leaves nothing behind.
namespace webhook_scenarios_test {

using api::Json;
using base::seconds;
using fakes::WebhookBehaviour;
using integration::Rig;
using Lie = WebhookBehaviour::Lie;
using Phase = api::EvacuationPhase;

/// The service's end of the connection, in the same process. Can hang, so that calls end with the caller's timeout.
class InProcessService final : public controllers::evacuation::ServiceCaller {
 public:
  explicit InProcessService(base::ManualClock& clock) : clock_(clock), service(clock, {}) {}

  std::string refusal(const controllers::evacuation::ServiceCall& call) const override {
    return controllers::refusal(config, call.use, call.ns);
  }
  evictors::CallResult send(const controllers::evacuation::ServiceCall& call, const kube::Request& request) override {
    if (call.service != "mover") return base::invalid("no such service");
    ++calls;
    contexts.insert(request.traceparent);
    if (hangs) {
      clock_.advance(seconds(10));
      return base::Error{base::ErrorCode::kOutcomeUnknown, "no answer within 10s"};
    }
    if (gone) return base::unavailable("connection refused");
    const auto answer = service.answer({request.method, request.path, request.query, {}, request.body, "10.0.0.9:1"});
    if (lose_next_answer && request.method == "POST") {
      lose_next_answer = false;
      return base::Error{base::ErrorCode::kOutcomeUnknown, "the connection broke"};
    }
    return kube::Response{answer.status, answer.body, {}, answer.content_type};
  }
  const std::vector<std::string>& names() const override { return names_; }

 private:
  base::ManualClock& clock_;
  const std::vector<std::string> names_ = {"mover"};

 public:
  fakes::WebhookService service;
  controllers::ServiceConfig config = {.name = "mover", .namespaces = {"shop"}, .uses = {"webhook"}};
  bool hangs = false;
  bool gone = false;
  bool lose_next_answer = false;
  int calls = 0;
  std::set<std::string> contexts;  ///< traceparent headers of the requests
};

class WebhookScenario : public Rig {
 protected:
  std::string begin(WebhookBehaviour behaviour, const std::function<void(Json& spec)>& edit = {}) {
    mover.service.become(std::move(behaviour));
    services = &mover;
    stage(2);
    start_operator();
    pod = pods().front();
    return evacuate(pod, [&](Json& spec) {
      spec["evictors"] = {{{"name", "webhook"}, {"parameters", {{"service", "mover"}}}}};
      spec["retry"] = {{"maxAttempts", 1}};
      if (edit) edit(spec);
    });
  }
  static WebhookBehaviour lying(Lie lie) {
    WebhookBehaviour behaviour;
    behaviour.lie = lie;
    return behaviour;
  }
  void expect_end(const std::string& name, Phase phase, const std::string& why) {
    ASSERT_TRUE(run_to_end(name)) << api::to_string(this->phase(name)) << " " << get(name).status.message;
    EXPECT_EQ(this->phase(name), phase) << get(name).status.message;
    EXPECT_EQ(reason(name), why) << get(name).status.message;
  }
  void expect_untouched(const std::string& name) {
    EXPECT_TRUE(pod_exists(pod));
    EXPECT_EQ(granted(), 0u);
    EXPECT_TRUE(get(name).meta.finalizers.empty());
  }

  InProcessService mover{clock};
  std::string pod;
};

TEST_F(WebhookScenario, Success_ReadyThenWeEvict) {
  const std::string name = begin({});
  ASSERT_TRUE(run_until([&] { return get(name).status.progress.value_or(0) >= 50; }, seconds(30)));
  EXPECT_EQ(phase(name), Phase::kInProgress);
  EXPECT_TRUE(pod_exists(pod));
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_FALSE(pod_exists(pod));
  EXPECT_EQ(evictions().size(), 1u);
  EXPECT_EQ(get(name).status.adapter, "mover");
}

struct KeptSpans : controllers::SpanSink {
  bool wants(std::string_view) const override { return true; }
  void add(tracing::Span span) override { all.push_back(std::move(span)); }
  std::vector<tracing::Span> all;
};

TEST_F(WebhookScenario, TheServiceReceivesTheSpanOfEachCall) {
  KeptSpans kept;
  spans = &kept;
  expect_end(begin({}), Phase::kSucceeded, "Evicted");
  std::set<std::string> traced;
  for (const tracing::Span& each : kept.all) {
    for (const tracing::Attribute& of : each.attributes) {
      if (of.key == "evacuator.service") traced.insert(tracing::traceparent_of(each.trace_id, each.id));
    }
  }
  EXPECT_FALSE(traced.empty());
  EXPECT_TRUE(std::ranges::includes(mover.contexts, traced));
}

TEST_F(WebhookScenario, Success_TheServiceEvicts) {
  WebhookBehaviour behaviour;
  behaviour.evicts_itself = true;
  const std::string name = begin(behaviour);
  ASSERT_TRUE(run_until([&] { return get(name).status.progress == 100; }, seconds(60)));
  ASSERT_TRUE(cluster->store().remove(kube::kPods, {"shop", pod}));
  expect_end(name, Phase::kSucceeded, "MovedByOwner");
  EXPECT_EQ(evictions().size(), 0u);
}

TEST_F(WebhookScenario, Success_TheAnswerToTheStartIsLost) {
  mover.lose_next_answer = true;
  const std::string name = begin({});
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(mover.service.starts(), 1u) << "the same token begins nothing again";
}

TEST_F(WebhookScenario, Success_TheServiceRestartsHalfWay) {
  const std::string name = begin({});
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(30)));
  mover.gone = true;
  run_for(seconds(100));
  EXPECT_EQ(phase(name), Phase::kInProgress);
  mover.gone = false;
  expect_end(name, Phase::kSucceeded, "Evicted");
}

TEST_F(WebhookScenario, Fail_Retryable) {
  WebhookBehaviour behaviour;
  behaviour.fails = "NoRoom";
  behaviour.retryable = true;
  const std::string name = begin(behaviour, [](Json& spec) { spec["retry"] = {{"maxAttempts", 2}}; });
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kBackoff; }, seconds(60)));
  EXPECT_TRUE(mover.service.tokens().empty()) << "the failed attempt was taken back";
  behaviour.fails.clear();
  mover.service.become(behaviour);
  expect_end(name, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(get(name).status.attempt, 2);
}

TEST_F(WebhookScenario, Fail_ForGood) {
  WebhookBehaviour behaviour;
  behaviour.fails = "VolumeLocked";
  const std::string name = begin(behaviour);
  expect_end(name, Phase::kFailed, "HandoffFailed");
  EXPECT_NE(get(name).status.message.find("VolumeLocked"), std::string::npos) << get(name).status.message;
  expect_untouched(name);
  EXPECT_TRUE(mover.service.tokens().empty());
}

TEST_F(WebhookScenario, Hang_FromTheFirstCall) {
  mover.hangs = true;
  const std::string name = begin({});
  expect_end(name, Phase::kFailed, "BlockedTimeout");
  expect_untouched(name);
}

TEST_F(WebhookScenario, Hang_HalfWay) {
  const std::string name = begin({});
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(30)));
  mover.hangs = true;
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kAborting; }, seconds(600)));
  EXPECT_NE(get(name).status.message.find("ServiceUnreachable"), std::string::npos) << get(name).status.message;
  expect_end(name, Phase::kFailed, "HandoffFailed");
  EXPECT_EQ(condition(name, "RollbackComplete"), "AbortTimeout") << "it could not be told";
  expect_untouched(name);
}

TEST_F(WebhookScenario, Cancel_HalfWay) {
  WebhookBehaviour behaviour;
  behaviour.takes = seconds(300);
  behaviour.aborting = seconds(20);
  const std::string name = begin(behaviour);
  ASSERT_TRUE(run_until([&] { return get(name).status.progress.value_or(0) > 0; }, seconds(60)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  EXPECT_TRUE(mover.service.tokens().empty());
  expect_untouched(name);
}

TEST_F(WebhookScenario, Cancel_IgnoredByTheService) {
  WebhookBehaviour behaviour = lying(Lie::kIgnoresAbort);
  behaviour.takes = seconds(3000);
  const std::string name = begin(behaviour);
  ASSERT_TRUE(run_until([&] { return get(name).status.progress.has_value(); }, seconds(60)));
  const int before = mover.calls;
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "AbortTimeout");
  EXPECT_LT(mover.calls - before, 200) << "it is not called in circles";
}

TEST_F(WebhookScenario, UnknownServiceNamesTheFix) {
  const std::string name = begin({}, [](Json& spec) { spec["evictors"][0]["parameters"]["service"] = "nobody"; });
  expect_end(name, Phase::kFailed, "NotEvictable");
  EXPECT_NE(get(name).status.message.find("add it under services"), std::string::npos) << get(name).status.message;
  EXPECT_EQ(mover.calls, 0);
}

/// A user who may create Evacuations can name any service and send arbitrary parameters x-* to it.
TEST_F(WebhookScenario, AttackThroughAServiceOfAnotherTenantIsRefused) {
  mover.config.namespaces = {"bank"};
  const std::string name = begin({}, [](Json& spec) {
    spec["evictors"][0]["parameters"].update({{"x-database", "ledger"}, {"x-namespace", "bank"}});
  });
  expect_end(name, Phase::kFailed, "NotAllowed");
  EXPECT_EQ(get(name).status.message,
            "service mover may not be called as webhook for namespace shop: services[mover].namespaces of the "
            "operator's configuration does not list shop");
  EXPECT_EQ(mover.calls, 0) << "the service heard nothing, x-database least of all";
  expect_untouched(name);
}

TEST_F(WebhookScenario, AttackThroughAServiceThatIsNoWebhookIsRefused) {
  mover.config.uses = {"patroni"};
  const std::string name = begin({});
  expect_end(name, Phase::kFailed, "NotAllowed");
  EXPECT_NE(get(name).status.message.find("services[mover].uses"), std::string::npos) << get(name).status.message;
  EXPECT_EQ(mover.calls, 0);
  expect_untouched(name);
}

TEST_F(WebhookScenario, AListedNamespaceContinuesWhileAnotherIsRefused) {
  mover.config.namespaces = {"bank", "shop"};
  expect_end(begin({}), Phase::kSucceeded, "Evicted");
}

TEST_F(WebhookScenario, DryRunNeverReachesTheService) {
  const std::string name = begin({}, [](Json& spec) { spec["dryRun"] = true; });
  expect_end(name, Phase::kSucceeded, "DryRun");
  EXPECT_EQ(mover.calls, 0);
  EXPECT_TRUE(pod_exists(pod));
}

struct LieCase {
  const char* name;
  Lie lie;
  const char* reason;
  const char* text;  ///< expected part of status.message
};

TEST_F(WebhookScenario, Lie_EveryOneEndsWithAReasonAndAnUntouchedPod) {
  const LieCase cases[] = {
      {"html", Lie::kHtml, "BlockedTimeout", "not valid JSON"},
      {"wrong token", Lie::kWrongToken, "NotEvictable", "somebody-elses.7"},
      {"300 kB", Lie::kHuge, "BlockedTimeout", "more than 65536"},
      {"wrong types", Lie::kWrongTypes, "BlockedTimeout", "progress: must be a whole number"},
      {"progress 1e9", Lie::kWildProgress, "BlockedTimeout", "from 0 to 100"},
      {"backwards", Lie::kBackwards, "HandoffFailed", "ContractViolation: state went back"},
      {"forgets", Lie::kForgets, "HandoffFailed", "TokenForgotten"},
      {"500", Lie::kServerError, "BlockedTimeout", "answered 500"},
      {"moved, but stays", Lie::kMovedButStays, "HandoffFailed", "MovedButPodRemains"},
  };
  services = &mover;
  stage(2);
  start_operator();
  pod = pods().front();
  for (const LieCase& each : cases) {
    mover.service.become(lying(each.lie));
    const std::string name = evacuate(pod, [&](Json& spec) {
      spec["evictors"] = {{{"name", "webhook"}, {"parameters", {{"service", "mover"}}}}};
      spec["retry"] = {{"maxAttempts", 1}};
    });
    ASSERT_TRUE(run_to_end(name)) << each.name;
    EXPECT_EQ(phase(name), Phase::kFailed) << each.name;
    EXPECT_EQ(reason(name), each.reason) << each.name << ": " << get(name).status.message;
    EXPECT_NE(get(name).status.message.find(each.text), std::string::npos)
        << each.name << ": " << get(name).status.message;
    expect_untouched(name);
    delete_evacuation(name);
    settle();
  }
}

}  // namespace webhook_scenarios_test
