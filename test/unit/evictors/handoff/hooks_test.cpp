#include "evictors/handoff/hooks.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/descheduler_policy.hpp"
#include "evictors/handoff/hook_job.hpp"
#include "evictors/handoff/hook_memory.hpp"
#include "evictors/handoff/stateful_handoff.hpp"
#include "test/builders/origin.hpp"
#include "test/unit/evictors/objects.hpp"

/// Hooks of a policy around a move: when they are due, and the meaning of their responses and Jobs.
namespace handoff_hooks_test {

using namespace evictors_test;
using api::EvacuationPhase;
using api::Json;
using base::seconds;
using evictors::Document;
using evictors::NextMove;
using evictors::ResponseClass;
using evictors::Rollback;
using evictors::Support;
using evictors::handoff::HookPoint;
using evictors::handoff::StatefulHandoff;

const Json kJobHook = {
    {"job", {{"template", {{"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "i"}}})}}}}}}},
    {"timeoutSeconds", 600},
    {"retries", 4}};
const Json kWebhook = {{"webhook", {{"service", "backup"}}}, {"timeoutSeconds", 60}, {"retries", 1}};

Json ended(const char* type, const char* reason = "") {
  return Json::array({{{"type", type}, {"status", "True"}, {"reason", reason}, {"message", "why"}}});
}

/// Fixture for one step of an Evacuation of shop/web-1, created by the policy `safe` with that policy's hooks.
struct Hooked {
  explicit Hooked(Json its_hooks, EvacuationPhase phase = EvacuationPhase::kPreparing)
      : hooks(std::move(its_hooks)), of(evacuation(phase)), target(pod()) {
    builders::set_policy(of, "safe");
    of.spec.evictors = {{"stateful-handoff", {}}};
    if (phase != EvacuationPhase::kPreparing) {
      of.status.evictor = "stateful-handoff";
      of.status.adapter = "none";
    }
  }
  evictors::EvictorContext look() {
    documents = {
        {"policy", policy_status,
         Json{{"kind", "DeschedulerPolicy"},
              {"metadata", {{"name", "safe"}}},
              {"spec",
               {{"evacuation", {{"evictors", Json::array({{{"name", "stateful-handoff"}}})}, {"hooks", hooks}}}}}}
             .dump()}};
    for (const auto& [name, object] : jobs) {
      documents.push_back({"job-" + name, object.is_null() ? 404 : 200, object.is_null() ? "" : object.dump()});
    }
    auto context = evictors_test::context(of, target, now);
    if (no_pod) context.pod = nullptr;
    context.documents = documents;
    context.services = services;
    return context;
  }
  evictors::EvictionStep plan() { return StatefulHandoff().plan(look()); }
  evictors::Observation observe() { return StatefulHandoff().observe(look()); }
  std::string action() {
    const auto next = plan();
    return next.action ? next.action->name : next.next == NextMove::kWait ? "wait" : "proceed";
  }
  std::string ref(const std::string& name) {
    for (const auto& [key, value] : of.status.refs) {
      if (key == name) return value;
    }
    return "";
  }
  void remember(const evictors::Refs& refs) {
    for (const auto& [name, value] : refs) {
      std::erase_if(of.status.refs, [&key = name](const auto& each) { return each.first == key; });
      of.status.refs.emplace_back(name, value);
    }
  }
  /// Classifies a response to the action that is due now.
  ResponseClass answer(int code, const std::string& body) {
    const auto next = plan();
    EXPECT_TRUE(next.action);
    if (!next.action) return ResponseClass::kUnknown;
    const auto verdict = StatefulHandoff().classify(look(), *next.action, kube::Response{code, body, {}, ""});
    remember(verdict.refs);
    return verdict.answer;
  }

  Json hooks;
  api::Evacuation of;
  api::Pod target;
  base::TimePoint now = kNoon;
  int policy_status = 200;
  bool no_pod = false;
  std::map<std::string, Json> jobs;  ///< By hook. null if the Job does not exist.
  std::vector<std::string> services = {"backup"};
  std::vector<Document> documents;
};

/// The Job that kJobHook creates, as the server returns it.
Json job(const Json& conditions, const char* point = "pre") {
  const bool moves = std::string_view(point) == "migrate";
  Hooked world(Json{{point, kJobHook}}, moves ? EvacuationPhase::kRequesting : EvacuationPhase::kPreparing);
  world.jobs[point] = nullptr;
  Json made = Json::parse(world.plan().action->request.body);
  made["metadata"]["uid"] = "job-uid";
  made["spec"].update({{"parallelism", 1},
                       {"completions", 1},
                       {"completionMode", "NonIndexed"},
                       {"suspend", false},
                       {"selector", {{"matchLabels", {{"batch.kubernetes.io/job-name", "evac"}}}}}});
  Json& pod = made["spec"]["template"];
  pod["metadata"]["labels"]["job-name"] = "evac";
  pod["spec"].update(
      {{"dnsPolicy", "ClusterFirst"}, {"schedulerName", "default-scheduler"}, {"securityContext", Json::object()}});
  pod["spec"]["containers"][0].update({{"imagePullPolicy", "Always"}, {"resources", Json::object()}});
  made["status"] = {{"conditions", conditions}};
  return made;
}
Json changed_job(const char* at, const Json& value) {
  Json made = job(ended("Complete"));
  made[Json::json_pointer(at)] = value;
  return made;
}

// --- which hooks apply

TEST(Hooks, ApplyOnlyToEvacuationsOfThePolicyThatNameTheEvictor) {
  Hooked world(Json{{"pre", kWebhook}});
  EXPECT_EQ(world.action(), "CallHookPre");
  EXPECT_EQ(StatefulHandoff().reads(world.look()).front().name, "policy");
  world.of.spec.evictors.clear();
  EXPECT_TRUE(StatefulHandoff().reads(world.look()).empty()) << "the automatic choice reads no policy";
  world.of.spec.evictors = {{"stateful-handoff", {}}};
  world.of.spec.source.policy.clear();
  EXPECT_TRUE(StatefulHandoff().reads(world.look()).empty());
  world.of.spec.source.policy = "safe";
  world.of.spec.dry_run = true;
  EXPECT_TRUE(StatefulHandoff().reads(world.look()).empty()) << "a dry run runs nothing";
}

TEST(Hooks, DoNotRunWithoutAVerifiedOrigin) {
  Hooked world(Json{{"pre", kWebhook}});
  world.of.status.conditions.clear();
  EXPECT_TRUE(StatefulHandoff().reads(world.look()).empty());
  EXPECT_NE(world.action(), "CallHookPre");
}

TEST(Hooks, FailClosedWhenThePolicyCannotBeRead) {
  struct Row {
    int status;
    Support support;
  };
  for (const Row& row : {Row{200, Support::kSupported}, Row{404, Support::kUnsupported}, Row{0, Support::kUnavailable},
                         Row{503, Support::kUnavailable}, Row{403, Support::kUnavailable}}) {
    Hooked world(Json{{"pre", kWebhook}});
    world.policy_status = row.status;
    EXPECT_EQ(StatefulHandoff().probe(world.look()).support, row.support) << row.status;
  }
  Hooked nonsense(Json{{"pre", {{"webhook", 7}}}});
  EXPECT_EQ(StatefulHandoff().probe(nonsense.look()).support, Support::kUnsupported);
}

/// A hook failure must not let another evictor evict the pod without the hooks or without asking the pod's operator.
TEST(Hooks, ThatFailBlockOtherEvictors) {
  struct Row {
    const char* what;
    Json hooks;
    int status;
    bool with_service;
  };
  const std::vector<Row> rows = {
      {"the service is not configured", {{"pre", kWebhook}}, 200, false},
      {"the policy is not to be read", {{"pre", kWebhook}}, 500, true},
      {"the policy was not read", {{"pre", kWebhook}}, 0, true},
      {"forbidden", {{"pre", kWebhook}}, 403, true},
      {"the policy is gone", {{"pre", kWebhook}}, 404, true},
      {"nonsense", {{"pre", {{"webhook", 7}}}}, 200, true},
  };
  const api::Pod plain = pod();
  api::Pod broker = pod();
  broker.meta.labels = api::StringMap(
      std::vector<std::pair<std::string, std::string>>{{"strimzi.io/kind", "Kafka"}, {"strimzi.io/name", "a-kafka"}});
  for (const Row& row : rows) {
    for (const api::Pod& target : {plain, broker}) {
      Hooked world(row.hooks);
      world.target = target;
      world.policy_status = row.status;
      if (!row.with_service) world.services.clear();
      EXPECT_NE(StatefulHandoff().probe(world.look()).support, Support::kSupported) << row.what;
      EXPECT_TRUE(StatefulHandoff().owner_decides(world.look())) << row.what;
      const bool may_pass = row.status == 500 || row.status == 0 || row.status == 403;
      EXPECT_EQ(StatefulHandoff().probe(world.look()).hold, may_pass) << row.what;
    }
  }
  Hooked beside(Json{{"migrate", kJobHook}});
  beside.target = broker;
  EXPECT_TRUE(StatefulHandoff().owner_decides(beside.look())) << "hooks.migrate beside an adapter";
  Hooked usable(Json{{"pre", kWebhook}});
  EXPECT_FALSE(StatefulHandoff().owner_decides(usable.look())) << "hooks that run are no operator";
  Hooked without(Json::object());
  EXPECT_FALSE(StatefulHandoff().owner_decides(without.look()));
}

TEST(Hooks, NameAServiceThatIsNotConfigured) {
  Hooked world(Json{{"post", kWebhook}});
  world.services.clear();
  const auto probe = StatefulHandoff().probe(world.look());
  EXPECT_EQ(probe.support, Support::kUnsupported);
  EXPECT_EQ(probe.reason, "hooks.post: service backup is not in the operator's configuration");
}

TEST(Hooks, LeaveTheMoveToTheOperatorOfThePod) {
  Hooked world(Json{{"migrate", kJobHook}});
  EXPECT_EQ(StatefulHandoff().probe(world.look()).adapter, "none");
  world.target = pod({handoff("mode", "required")});
  EXPECT_EQ(StatefulHandoff().probe(world.look()).support, Support::kUnsupported);
  Hooked pre(Json{{"pre", kWebhook}});
  pre.target = pod({handoff("mode", "required")});
  const auto probe = StatefulHandoff().probe(pre.look());
  EXPECT_EQ(probe.adapter, "generic");
  EXPECT_FALSE(probe.acknowledges) << "nobody has been asked while the hook runs";
  EXPECT_GE(probe.prepare, seconds(60)) << "Preparing lasts as long as the hook may";
  EXPECT_EQ(pre.action(), "CallHookPre") << "before the protocol's own request";
  pre.of.status.refs = {{"preHook", "Succeeded"}};
  EXPECT_EQ(pre.plan().next, NextMove::kProceed);
  EXPECT_TRUE(StatefulHandoff().probe(pre.look()).acknowledges);
}

// --- webhooks

TEST(WebhookHook, SendsItsContext) {
  Hooked world(Json{{"pre", kWebhook}});
  const auto action = *world.plan().action;
  EXPECT_EQ(action.service, "backup");
  EXPECT_EQ(action.request.path, "/v1/hooks/pre");
  EXPECT_EQ(action.role, evictors::ActionRole::kPrepare);
  const Json body = Json::parse(action.request.body);
  EXPECT_EQ(body["apiVersion"], "evacuator.dev/hook/v1");
  EXPECT_EQ(body["hook"], "pre");
  EXPECT_EQ(body["token"], kToken);
  EXPECT_EQ(body["pod"]["name"], "web-1");
  EXPECT_EQ(body["policy"], "safe");
}

TEST(WebhookHook, IsCalledUntilItIsDone) {
  Hooked world(Json{{"pre", kWebhook}});
  EXPECT_EQ(world.answer(200, R"({"done":false,"retryAfterSeconds":7})"), ResponseClass::kApplied);
  EXPECT_EQ(world.ref("preHook"), "Running");
  EXPECT_EQ(world.action(), "wait");
  world.now += seconds(7);
  EXPECT_EQ(world.action(), "CallHookPre");
  EXPECT_EQ(world.answer(200, R"({"done":true})"), ResponseClass::kApplied);
  EXPECT_EQ(world.ref("preHook"), "Succeeded");
  EXPECT_EQ(world.action(), "proceed");
}

TEST(WebhookHook, HasOneTimeoutOverAllItsCalls) {
  Hooked world(Json{{"pre", kWebhook}});
  world.answer(200, R"({"done":false})");
  world.now += seconds(59);
  EXPECT_FALSE(world.observe().failed);
  world.answer(200, R"({"done":false})");
  world.now += seconds(1);
  ASSERT_TRUE(world.observe().failed);
  EXPECT_EQ(world.observe().failed->reason, "PreHookFailed");
  EXPECT_TRUE(world.observe().failed->retryable) << "spec.retry decides";
}

TEST(WebhookHook, RetriesOnlyTransientFailures) {
  struct Row {
    int code;
    std::string body;
    ResponseClass answer;
    bool final;
  };
  const std::vector<Row> rows = {
      {200, "<html>login</html>", ResponseClass::kWebhookDown, false},
      {200, R"({"done":"yes"})", ResponseClass::kWebhookDown, false},
      {200, "[true]", ResponseClass::kWebhookDown, false},
      {200, std::string(100'000, '{'), ResponseClass::kWebhookDown, false},
      {503, "busy", ResponseClass::kWebhookDown, false},
      {302, "", ResponseClass::kWebhookDown, false},
      {429, "", ResponseClass::kWebhookDown, false},
      {400, "no such pod", ResponseClass::kRetryLater, true},
      {403, "<html>a proxy's page</html>", ResponseClass::kWebhookDown, false},
      {425, "", ResponseClass::kWebhookDown, false},
      {404, "", ResponseClass::kRetryLater, true},
      {200, R"({"done":false,"failed":"disk full"})", ResponseClass::kRetryLater, true},
  };
  for (const Row& row : rows) {
    Hooked world(Json{{"pre", kWebhook}});
    EXPECT_EQ(world.answer(row.code, row.body), row.answer) << row.code << row.body.substr(0, 40);
    EXPECT_EQ(world.observe().failed.has_value(), row.final) << row.code << row.body.substr(0, 40);
    if (row.final) continue;
    world.answer(row.code, row.body);
    EXPECT_TRUE(world.observe().failed) << "retries: 1, so the second failure is the last";
  }
}

TEST(WebhookHook, CanBeIgnored) {
  Json hook = kWebhook;
  hook["failurePolicy"] = "Ignore";
  Hooked world(Json{{"pre", hook}});
  world.answer(400, "no");
  EXPECT_FALSE(world.observe().failed);
  EXPECT_EQ(world.action(), "proceed");
  EXPECT_TRUE(world.ref("preHook").starts_with("Failed: 400"));
}

TEST(WebhookHook, BoundsWhatIsRememberedOfHostileAnswers) {
  Hooked world(Json{{"pre", kWebhook}});
  world.answer(400, std::string(300'000, 'x'));
  for (const auto& [name, value] : world.of.status.refs) EXPECT_LE(value.size(), 512u) << name;
  Json slow = kWebhook;
  slow["timeoutSeconds"] = 600;
  Hooked asks(Json{{"pre", slow}});
  asks.answer(200, R"({"done":false,"retryAfterSeconds":999999999})");
  asks.now += seconds(60);
  EXPECT_NE(asks.action(), "wait");
  asks.of.status.refs = {{"preHookTries", "garbage"}, {"preHookNext", "never"}, {"preHookSince", "x"}};
  EXPECT_EQ(asks.action(), "CallHookPre");
}

TEST(Hooks, HonourRetryAfterOfAWebhook) {
  Hooked world(Json{{"pre", kWebhook}});
  const auto pause = [&] { return StatefulHandoff().poll_interval(world.look()); };
  EXPECT_EQ(pause(), seconds(5)) << "nothing was asked yet";
  world.answer(200, R"({"done":false,"retryAfterSeconds":2})");
  EXPECT_EQ(pause(), seconds(2));
  world.now += seconds(2);
  EXPECT_EQ(world.action(), "CallHookPre");
  world.answer(200, R"({"done":false,"retryAfterSeconds":30})");
  EXPECT_EQ(pause(), seconds(5)) << "the pod is looked after meanwhile";
  world.now += seconds(27);
  EXPECT_EQ(pause(), seconds(3));
  world.now += seconds(3);
  world.answer(200, R"({"done":true})");
  EXPECT_EQ(pause(), seconds(5));
}

// --- Jobs

TEST(JobHook, BuildsTheJobFromThePolicysTemplate) {
  Hooked world(Json{{"pre", kJobHook}});
  world.jobs["pre"] = nullptr;
  const auto action = *world.plan().action;
  EXPECT_EQ(action.name, "CreateHookJobPre");
  EXPECT_EQ(action.request.path, "/apis/batch/v1/namespaces/shop/jobs");
  const Json body = Json::parse(action.request.body);
  EXPECT_EQ(body["metadata"]["name"], "evac-e5b3-1-pre");
  EXPECT_EQ(body["metadata"]["namespace"], "shop");
  EXPECT_EQ(body["metadata"]["labels"]["evacuator.dev/evacuation-uid"], "e5b3");
  EXPECT_EQ(body["metadata"]["ownerReferences"][0]["uid"], "e5b3");
  EXPECT_EQ(body["spec"]["backoffLimit"], 4);
  EXPECT_EQ(body["spec"]["activeDeadlineSeconds"], 600);
  EXPECT_EQ(body["spec"]["ttlSecondsAfterFinished"], 3600);
  const Json& spec = body["spec"]["template"]["spec"];
  EXPECT_EQ(spec["restartPolicy"], "Never");
  EXPECT_EQ(spec["containers"][0]["image"], "i");
  std::map<std::string, std::string> env;
  for (const Json& each : spec["containers"][0]["env"]) env[each["name"]] = each["value"];
  EXPECT_EQ(env["EVACUATOR_POD"], "web-1");
  EXPECT_EQ(env["EVACUATOR_TOKEN"], kToken);
}

TEST(JobHook, IsFollowedByItsConditions) {
  struct Row {
    const char* what;
    Json seen;  ///< null for a 404
    const char* known;
    const char* action;
    const char* remembered;
    bool failed;
  };
  const std::vector<Row> rows = {
      {"not made yet", nullptr, "", "CreateHookJobPre", "", false},
      {"runs", job(Json::array()), "Running", "wait", "Running", false},
      {"runs, and the answer to its creation was lost", job(Json::array()), "", "wait", "Running", false},
      {"complete", job(ended("Complete")), "Running", "proceed", "Succeeded", false},
      {"failed", job(ended("Failed", "BackoffLimitExceeded")), "Running", "wait", "Failed: BackoffLimitExceeded: why",
       true},
      {"cleaned up after it was seen", nullptr, "Succeeded", "proceed", "Succeeded", false},
      {"vanished", nullptr, "Running", "wait", "Failed: Job evac-e5b3-1-pre was deleted before it completed", true},
      {"somebody else's", changed_job("/metadata/ownerReferences/0/uid", "beef"), "", "wait",
       "Failed: a Job evac-e5b3-1-pre already exists and was not created by the operator: it is not owned by the "
       "Evacuation",
       true},
      {"hostile", Json{{"metadata", 7}, {"status", "x"}}, "", "wait",
       "Failed: a Job evac-e5b3-1-pre already exists and was not created by the operator: it is not owned by the "
       "Evacuation",
       true},
  };
  for (const Row& row : rows) {
    Hooked world(Json{{"pre", kJobHook}});
    world.jobs["pre"] = row.seen;
    if (*row.known) world.of.status.refs = {{"preHook", row.known}};
    EXPECT_EQ(world.action(), row.action) << row.what;
    const auto seen = world.observe();
    EXPECT_EQ(seen.failed.has_value(), row.failed) << row.what;
    world.remember(seen.refs);
    EXPECT_EQ(world.ref("preHook"), row.remembered) << row.what;
    const bool link = *row.remembered && std::string(row.known) != "Succeeded" &&
                      std::string(row.remembered).find("not created by the operator") == std::string::npos;
    EXPECT_EQ(world.ref("preHookLogs"), link ? "kubectl logs job/evac-e5b3-1-pre -n shop" : "") << row.what;
  }
}

struct ForeignCase {
  const char* name;
  const char* at;
  Json value;
  const char* why;
};
class ForeignJob : public testing::TestWithParam<ForeignCase> {};
/// The foreign Job has succeeded, but it did not back up anything.
TEST_P(ForeignJob, MadeBeforeOursDoesNotSkipTheHook) {
  Hooked world(Json{{"pre", kJobHook}});
  world.jobs["pre"] = changed_job(GetParam().at, GetParam().value);
  const auto seen = world.observe();
  ASSERT_TRUE(seen.failed);
  EXPECT_NE(seen.failed->message.find("a Job evac-e5b3-1-pre already exists and was not created by the operator: "),
            std::string::npos)
      << seen.failed->message;
  EXPECT_NE(seen.failed->message.find(GetParam().why), std::string::npos) << seen.failed->message;
  EXPECT_NE(world.action(), "PostEviction");
  EXPECT_NE(world.action(), "proceed");
}
INSTANTIATE_TEST_SUITE_P(
    Jobs, ForeignJob,
    testing::Values(
        ForeignCase{"WithALabelAndNoOwner", "/metadata/ownerReferences", Json::array(), "not owned by"},
        ForeignCase{"OfAnotherEvacuation", "/metadata/ownerReferences/0/uid", "beef", "not owned by"},
        ForeignCase{"OfAnotherKind", "/metadata/ownerReferences/0/kind", "ConfigMap", "not owned by"},
        ForeignCase{"WithAnotherImage", "/spec/template/spec/containers/0/image", "true",
                    "its spec.template.spec.containers[0].image does not match the policy's hook"},
        ForeignCase{"WithAnotherCommand", "/spec/template/spec/containers/0/command", Json::array({"true"}),
                    "containers[0].command"},
        ForeignCase{"WithAnotherVariable", "/spec/template/spec/containers/0/env/0/value", "x", "env[0].value"},
        ForeignCase{"WithOneContainerMore", "/spec/template/spec/containers/1", Json{{"name", "d"}}, "containers"},
        ForeignCase{"WithInitContainers", "/spec/template/spec/initContainers", Json::array({{{"name", "d"}}}),
                    "initContainers"},
        ForeignCase{"ThatNeedsNoCompletion", "/spec/completions", 0, "spec.completions"},
        ForeignCase{"ThatSucceedsByAPolicy", "/spec/successPolicy", Json{{"rules", Json::array()}}, "successPolicy"},
        ForeignCase{"ManagedByAnother", "/spec/managedBy", "example.com/x", "managedBy"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(JobHook, ThatWasReplacedFails) {
  Hooked world(Json{{"pre", kJobHook}});
  world.jobs["pre"] = nullptr;
  EXPECT_EQ(world.answer(201, job(Json::array()).dump()), ResponseClass::kApplied);
  EXPECT_EQ(world.ref("preHookJob"), "job-uid");
  world.jobs["pre"] = changed_job("/metadata/uid", "another");
  const auto seen = world.observe();
  ASSERT_TRUE(seen.failed);
  EXPECT_NE(seen.failed->message.find("it replaced the Job that the operator created"), std::string::npos);
}

TEST(JobHook, IsIdentifiedByTheUidOfTheCreateResponse) {
  Hooked world(Json{{"pre", kJobHook}});
  world.jobs["pre"] = nullptr;
  world.answer(201, job(Json::array()).dump());
  // A mutating webhook changed the image.
  world.jobs["pre"] = changed_job("/spec/template/spec/containers/0/image", "registry.local/i");
  EXPECT_EQ(world.action(), "proceed");
}

TEST(JobHook, TreatsAnExistingJobAsItsOwnUntilItIsRead) {
  Hooked world(Json{{"pre", kJobHook}});
  world.jobs["pre"] = nullptr;
  EXPECT_EQ(world.answer(409, R"({"kind":"Status","reason":"AlreadyExists","message":"exists"})"),
            ResponseClass::kApplied);
  EXPECT_EQ(world.ref("preHook"), "Running");
  EXPECT_EQ(world.ref("preHookLogs"), "kubectl logs job/evac-e5b3-1-pre -n shop");
}

TEST(JobHook, ThatIsForbiddenFailsWithAReason) {
  const std::string forbidden = R"({"kind":"Status","message":"jobs.batch is forbidden"})";
  Hooked world(Json{{"pre", kJobHook}});
  world.jobs["pre"] = nullptr;
  EXPECT_EQ(world.answer(403, forbidden), ResponseClass::kForbidden);
  Json ignored = kJobHook;
  ignored["failurePolicy"] = "Ignore";
  Hooked lenient(Json{{"pre", ignored}});
  lenient.jobs["pre"] = nullptr;
  EXPECT_EQ(lenient.answer(403, forbidden), ResponseClass::kRetryLater);
  EXPECT_EQ(lenient.action(), "proceed");
  EXPECT_NE(lenient.ref("preHook").find("forbidden"), std::string::npos);
}

TEST(JobHook, MigratesBeforeTheEviction) {
  Hooked world(Json{{"migrate", kJobHook}}, EvacuationPhase::kRequesting);
  world.jobs["migrate"] = nullptr;
  EXPECT_EQ(world.action(), "CreateHookJobMigrate");
  EXPECT_EQ(world.plan().action->role, evictors::ActionRole::kRequest);
  world.of.status.phase = EvacuationPhase::kInProgress;
  world.jobs["migrate"] = job(Json::array(), "migrate");
  EXPECT_EQ(world.action(), "wait");
  EXPECT_FALSE(world.observe().ready);
  world.jobs["migrate"] = job(ended("Complete"), "migrate");
  EXPECT_TRUE(world.observe().ready);
  EXPECT_EQ(world.action(), "PostEviction");
}

TEST(JobHook, KeepsThePodWhileItsIgnoredJobRunsBeyondItsTimeout) {
  Json ignored = kJobHook;
  ignored["failurePolicy"] = "Ignore";
  Hooked world(Json{{"pre", ignored}});
  world.of.status.refs = {{"preHook", "Running"}, {"preHookSince", base::format_time(world.now)}};
  world.jobs["pre"] = job(Json::array());
  world.now += seconds(24 * 3600);
  EXPECT_EQ(world.action(), "wait") << "the clock may be wrong, and the Job has a deadline of its own";
  EXPECT_FALSE(world.observe().failed);
  world.jobs["pre"] = job(ended("Failed", "DeadlineExceeded"));
  EXPECT_EQ(world.action(), "proceed");
}

TEST(JobHook, FailsTheAttemptOnceItsJobRunsBeyondItsTimeout) {
  Hooked world(Json{{"pre", kJobHook}});
  world.of.status.refs = {{"preHook", "Running"}, {"preHookSince", base::format_time(world.now)}};
  world.jobs["pre"] = job(Json::array());
  EXPECT_FALSE(world.observe().failed);
  world.now += seconds(24 * 3600);
  ASSERT_TRUE(world.observe().failed);
  EXPECT_EQ(world.observe().failed->reason, "PreHookFailed");
}

// --- undo

TEST(UndoHook, StopsRunningJobsThenRunsTheUndoHook) {
  Hooked world(Json{{"pre", kJobHook}, {"undo", kWebhook}}, EvacuationPhase::kAborting);
  world.of.status.refs = {{"preHook", "Running"}};
  world.jobs["pre"] = job(Json::array());
  auto undo = StatefulHandoff().undo(world.look());
  ASSERT_EQ(undo.size(), 1u);
  EXPECT_EQ(undo[0].name, "StopHookJobPre");
  EXPECT_EQ(Json::parse(undo[0].request.body),
            (Json{{"metadata", {{"uid", "job-uid"}}}, {"spec", {{"activeDeadlineSeconds", 1}}}}));
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kPending);
  world.jobs["pre"]["spec"]["activeDeadlineSeconds"] = 1;
  EXPECT_TRUE(StatefulHandoff().undo(world.look()).empty()) << "told already";
  world.jobs["pre"] = job(ended("Failed", "DeadlineExceeded"));
  undo = StatefulHandoff().undo(world.look());
  ASSERT_EQ(undo.size(), 1u);
  EXPECT_EQ(undo[0].name, "CallHookUndo");
  const auto verdict =
      StatefulHandoff().classify(world.look(), undo[0], kube::Response{200, R"({"done":true})", {}, ""});
  world.remember(verdict.refs);
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kComplete);
  EXPECT_TRUE(StatefulHandoff().undo(world.look()).empty());
}

TEST(UndoHook, IsNotRunWhenNothingHadBegun) {
  Hooked world(Json{{"pre", kWebhook}, {"undo", kWebhook}}, EvacuationPhase::kAborting);
  EXPECT_TRUE(StatefulHandoff().undo(world.look()).empty());
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kNothingToDo);
  // A call without an answer counts as begun.
  world.of.status.intent = api::EvacuationIntent{"CallHookPre", kToken, kNoon, false, "", ""};
  EXPECT_EQ(StatefulHandoff().undo(world.look()).size(), 1u);
}

TEST(UndoHook, ThatFailsIsReported) {
  Hooked world(Json{{"pre", kWebhook}, {"undo", kWebhook}}, EvacuationPhase::kAborting);
  world.of.status.refs = {{"preHook", "Succeeded"}, {"undoHook", "Failed: 400"}};
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kRemoteMarkRemains);
}

// --- post hooks

TEST(PostHook, WaitsForTheReplacementAndEndsTheEvacuation) {
  Hooked world(Json{{"post", kWebhook}}, EvacuationPhase::kVerifying);
  world.no_pod = true;
  auto arrival = StatefulHandoff().verify(world.look());
  EXPECT_TRUE(arrival.unfinished);
  EXPECT_FALSE(arrival.action) << "the replacement is not Ready";
  api::set_condition(world.of.status.conditions, {"ReplacementReady", api::ConditionStatus::kTrue, "Ready", "", 0, {}},
                     kNoon);
  arrival = StatefulHandoff().verify(world.look());
  ASSERT_TRUE(arrival.action);
  EXPECT_EQ(arrival.action->name, "CallHookPost");
  EXPECT_EQ(arrival.action->role, evictors::ActionRole::kCleanUp);
  EXPECT_GE(arrival.extra, seconds(60));
  world.of.status.refs = {{"postHook", "Succeeded"}};
  arrival = StatefulHandoff().verify(world.look());
  EXPECT_FALSE(arrival.unfinished || arrival.action || arrival.failed);
  world.of.status.refs = {{"postHook", "Failed: 400"}};
  EXPECT_TRUE(StatefulHandoff().verify(world.look()).failed);
}

// --- the policy is deleted during an attempt

/// Value of the ref `hooks` in status.refs that the first observation of the attempt writes.
std::string memory_of(const Json& hooks) {
  Hooked world(hooks);
  world.of.status.evictor = "stateful-handoff";
  world.of.status.adapter = "none";
  world.remember(world.observe().refs);
  return world.ref("hooks");
}

TEST(HookMemory, IsWrittenBeforeAnyHookBegins) {
  EXPECT_EQ(memory_of({{"pre", kJobHook}, {"undo", kWebhook}}), "pre=job 600 4 Abort, undo=webhook 60 1 Abort backup");
  EXPECT_EQ(memory_of(Json::object()), "none");
  Hooked world(Json{{"pre", kJobHook}});
  world.jobs["pre"] = nullptr;
  EXPECT_EQ(world.observe().refs.front().first, "hooks");
  world.remember(world.observe().refs);
  EXPECT_TRUE(world.observe().refs.empty()) << "once is enough";
}

TEST(HookMemory, RestoresOnlyWhatItWrote) {
  api::EvacuationHooks hooks;
  hooks.pre = api::Hook{"", R"({"spec":{}})", seconds(3600), seconds(86400), 20, api::HookFailurePolicy::kIgnore};
  hooks.migrate = hooks.pre;
  hooks.post = api::Hook{std::string(63, 's'), "", seconds(3600), seconds(86400), 20, api::HookFailurePolicy::kIgnore};
  hooks.undo = hooks.post;
  const std::string text = evictors::handoff::remembered_hooks(hooks);
  EXPECT_LE(text.size(), 512u) << "the longest there is fits into a ref";
  hooks.pre->job_template_json.clear();
  hooks.migrate->job_template_json.clear();
  EXPECT_EQ(evictors::handoff::parse_hooks_summary(text), hooks);
  EXPECT_EQ(evictors::handoff::parse_hooks_summary("none"), api::EvacuationHooks{});
  for (const char* alien : {"", "x", "pre", "pre=", "pre=job", "pre=job 1 1 Abort x", "pre=job 0 1 Abort",
                            "pre=job 1 99 Abort", "pre=job 1 1 Maybe", "pre=webhook 1 1 Abort", "last=job 1 1 Abort",
                            "pre=webhook 1 1 Abort ../x", "pre=job 1 1 Abort,undo=job 1 1 Abort", "none, none"}) {
    EXPECT_FALSE(evictors::handoff::parse_hooks_summary(alien)) << alien;
  }
}

struct LostPolicyRow {
  const char* name;
  EvacuationPhase phase;
  const char* known;  ///< Ref `hooks` in status.refs
  bool fails;
};
class LostPolicy : public testing::TestWithParam<std::tuple<LostPolicyRow, bool>> {};

TEST_P(LostPolicy, KeepsThePod) {
  const auto& [row, gone] = GetParam();
  Hooked world(gone ? Json::object() : Json{{"pre", {{"webhook", 7}}}}, row.phase);
  if (gone) world.policy_status = 404;
  world.of.status.evictor = "stateful-handoff";
  world.of.status.adapter = "none";
  world.of.status.refs = {{"preHook", "Running"}};
  if (*row.known) world.of.status.refs.emplace_back("hooks", row.known);
  const auto seen = world.observe();
  EXPECT_EQ(seen.failed.has_value(), row.fails);
  if (!row.fails) return;
  EXPECT_EQ(seen.failed->reason, "PolicyUnusable");
  EXPECT_FALSE(seen.failed->retryable);
  EXPECT_NE(seen.failed->message.find("policy safe"), std::string::npos);
  EXPECT_EQ(world.action(), "wait") << "whatever the failure leads to: no eviction";
}

INSTANTIATE_TEST_SUITE_P(
    Hooks, LostPolicy,
    testing::Combine(
        testing::Values(LostPolicyRow{"Preparing", EvacuationPhase::kPreparing, "pre=job 600 4 Abort", true},
                        LostPolicyRow{"Requesting", EvacuationPhase::kRequesting, "pre=job 600 4 Abort", true},
                        LostPolicyRow{"InProgress", EvacuationPhase::kInProgress, "pre=job 600 4 Abort", true},
                        LostPolicyRow{"Forgotten", EvacuationPhase::kRequesting, "", true},
                        LostPolicyRow{"HadNoHooks", EvacuationPhase::kRequesting, "none", false}),
        testing::Bool()),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + (std::get<1>(test.param) ? "Gone" : "Undecodable");
    });

// --- the policy loses a hook during an attempt

struct LostHookRow {
  const char* name;
  Json hooks;  ///< Current hooks of the policy
};
class LostHook : public testing::TestWithParam<LostHookRow> {};

TEST_P(LostHook, ThatHasBegunIsCompleted) {
  for (const char* point : {"pre", "migrate"}) {
    const bool moves = std::string_view(point) == "migrate";
    Hooked world(Json::object(), moves ? EvacuationPhase::kInProgress : EvacuationPhase::kPreparing);
    if (!GetParam().hooks.is_null()) world.hooks[point] = GetParam().hooks;
    world.of.status.evictor = "stateful-handoff";
    world.of.status.adapter = "none";
    const std::string memory = memory_of({{point, kJobHook}});
    world.of.status.refs = {
        {"hooks", memory}, {std::string(point) + "Hook", "Running"}, {std::string(point) + "HookJob", "job-uid"}};
    world.jobs[point] = job(Json::array(), point);
    const auto reads = StatefulHandoff().reads(world.look());
    EXPECT_TRUE(std::ranges::any_of(reads, [&](const auto& each) { return each.name == std::string("job-") + point; }));
    EXPECT_EQ(world.action(), "wait") << point << ": its Job runs";
    world.remember(world.observe().refs);
    EXPECT_EQ(world.ref("hooks"), memory) << "it is not forgotten either";
    world.jobs[point] = job(ended("Complete"), point);
    EXPECT_NE(world.action(), "wait") << point;
  }
}

INSTANTIATE_TEST_SUITE_P(Hooks, LostHook,
                         testing::Values(LostHookRow{"GoneFromThePolicy", nullptr},
                                         LostHookRow{"AWebhookByNow", kWebhook}),
                         [](const auto& test) { return test.param.name; });

TEST(LostHook, ThatHasNotBegunIsSkipped) {
  Hooked world(Json::object());
  world.of.status.evictor = "stateful-handoff";
  world.of.status.adapter = "none";
  world.of.status.refs = {{"hooks", memory_of({{"pre", kJobHook}})}};
  EXPECT_EQ(world.action(), "proceed");
  world.of.status.intent = api::EvacuationIntent{"CreateHookJobPre", kToken, kNoon, false, "", ""};
  world.jobs["pre"] = nullptr;
  EXPECT_TRUE(world.observe().failed) << "the call may be on its way: nobody can make its Job any more";
}

TEST(UndoHook, RunsAfterItsPolicyIsDeletedIfItIsAWebhook) {
  Hooked world(Json::object(), EvacuationPhase::kAborting);
  world.policy_status = 404;
  world.of.status.refs = {{"hooks", memory_of({{"pre", kJobHook}, {"undo", kWebhook}})}, {"preHook", "Running"}};
  world.jobs["pre"] = job(Json::array());
  const auto reads = StatefulHandoff().reads(world.look());
  EXPECT_TRUE(std::any_of(reads.begin(), reads.end(), [](const auto& each) { return each.name == "job-pre"; }));
  auto undo = StatefulHandoff().undo(world.look());
  ASSERT_EQ(undo.size(), 1u);
  EXPECT_EQ(undo[0].name, "StopHookJobPre") << "its Job is known, too";
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kPending);
  world.jobs["pre"] = job(ended("Failed", "DeadlineExceeded"));
  undo = StatefulHandoff().undo(world.look());
  ASSERT_EQ(undo.size(), 1u);
  EXPECT_EQ(undo[0].service, "backup");
  world.remember(
      StatefulHandoff().classify(world.look(), undo[0], kube::Response{200, R"({"done":true})", {}, ""}).refs);
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kComplete);
}

TEST(UndoHook, ThatCannotRunAnyMoreIsReported) {
  struct Row {
    const char* what;
    std::string known;
    Rollback end;
  };
  Json ignored = kJobHook;
  ignored["failurePolicy"] = "Ignore";
  for (const Row& row : {Row{"a Job", memory_of({{"pre", kWebhook}, {"undo", kJobHook}}), Rollback::kRemoteMarkRemains},
                         Row{"an ignored Job", memory_of({{"pre", kWebhook}, {"undo", ignored}}), Rollback::kComplete},
                         Row{"there was none", memory_of({{"pre", kWebhook}}), Rollback::kComplete},
                         Row{"nobody knows", "", Rollback::kRemoteMarkRemains}}) {
    Hooked world(Json::object(), EvacuationPhase::kAborting);
    world.policy_status = 404;
    world.of.status.refs = {{"preHook", "Succeeded"}};
    if (!row.known.empty()) world.of.status.refs.emplace_back("hooks", row.known);
    world.jobs["undo"] = nullptr;
    EXPECT_EQ(StatefulHandoff().undone(world.look()), row.end) << row.what;
    EXPECT_TRUE(StatefulHandoff().undo(world.look()).empty()) << row.what;
  }
}

TEST(UndoHook, ThatCannotRunDoesNotPreventRemovalOfTheMark) {
  Hooked world(Json::object(), EvacuationPhase::kAborting);
  world.policy_status = 404;
  world.of.status.adapter = "strimzi";
  world.of.status.request_sent_at = kNoon;
  world.of.status.refs = {{"preHook", "Succeeded"}, {"hooks", memory_of({{"pre", kWebhook}, {"undo", kJobHook}})}};
  world.jobs["undo"] = nullptr;
  world.target = pod({{"strimzi.io/manual-rolling-update", "true"}, {"evacuator.dev/evacuation-token", kToken}});
  EXPECT_EQ(StatefulHandoff().undone(world.look()), Rollback::kPending);
  ASSERT_EQ(StatefulHandoff().undo(world.look()).size(), 1u);
  EXPECT_EQ(StatefulHandoff().undo(world.look())[0].name, "RemoveMark");
}

TEST(PostHook, RunsAfterItsPolicyIsDeletedIfItIsAWebhook) {
  Hooked world(Json::object(), EvacuationPhase::kVerifying);
  world.no_pod = true;
  world.policy_status = 404;
  api::set_condition(world.of.status.conditions, {"ReplacementReady", api::ConditionStatus::kTrue, "Ready", "", 0, {}},
                     kNoon);
  world.of.status.refs = {{"hooks", memory_of({{"post", kWebhook}})}};
  ASSERT_TRUE(StatefulHandoff().verify(world.look()).action);
  world.of.status.refs = {{"hooks", memory_of({{"post", kJobHook}})}};
  world.jobs["post"] = nullptr;
  const auto arrival = StatefulHandoff().verify(world.look());
  ASSERT_TRUE(arrival.failed) << "failurePolicy Abort: told as a failure";
  EXPECT_EQ(arrival.failed->reason, "PostHookFailed");
}

TEST(PostHook, DoesNotBlockAnEvacuationWhosePolicyIsDeleted) {
  Hooked world(Json{{"post", kWebhook}}, EvacuationPhase::kVerifying);
  world.no_pod = true;
  world.policy_status = 404;
  EXPECT_FALSE(StatefulHandoff().verify(world.look()).unfinished);
}

}  // namespace handoff_hooks_test
