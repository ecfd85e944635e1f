#include "simulator/eviction_request/native_eviction.hpp"

#include <gmock/gmock.h>

#include "kube/request.hpp"
#include "test/unit/simulator/world.hpp"

namespace simulator::eviction_request {
namespace native_eviction_test {

using api::Json;
using testing::ElementsAre;
using testing::HasSubstr;

const User kAlice{"alice", {}, "kubectl"};
const std::string kLast(kImperativeResponder);

/// A running cluster with one running pod shop/web and the EvictionRequest API.
class NativeWorld : public testing::Test {
 protected:
  void begin(const std::string& script = "", Json responders = default_responders(), Options options = {},
             std::set<std::string> left_out = {}) {
    server = std::make_unique<ApiServer>(world.cluster.store());
    serve(*server, options);
    run(world.cluster, *server, options, std::move(left_out));
    world.add(objects::name_space("shop"));
    world.add_nodes(1);
    Json pod = objects::pod("shop", "web", "100m", "64Mi");
    pod["spec"]["evictionResponders"] = std::move(responders);
    if (!script.empty()) objects::annotate(pod, behaviour::kResponders, script);
    world.add(std::move(pod));
    world.advance(seconds(30));
    uid = api::text_at(*world.pod("web"), {"metadata", "uid"});
  }
  static Json default_responders() { return Json::array({{{"name", "acme.io/db"}, {"priority", 10000}}}); }

  Json request_body(const std::string& name, const char* requester = "acme.io/drain") const {
    return {
        {"metadata", {{"name", name}}},
        {"spec",
         {{"target", {{"pod", {{"name", "web"}, {"uid", uid}}}}}, {"requester", requester}, {"intent", "Eviction"}}}};
  }
  kube::Response post(const Json& body) {
    Json whole = body;
    whole["apiVersion"] = "lifecycle.k8s.io/v1alpha1";
    whole["kind"] = "EvictionRequest";
    return server->handle(kube::create_request(kube::kEvictionRequests, "shop", whole), kAlice);
  }
  void ask(const std::string& name, const char* requester = "acme.io/drain") {
    const auto answer = post(request_body(name, requester));
    ASSERT_EQ(answer.status, 201) << answer.body;
    world.advance(seconds(0));
  }
  kube::Response patch(const kube::ResourceType& type, const std::string& name, const Json& merge,
                       const char* subresource = "") {
    auto answer =
        server->handle(kube::patch_request(type, {"shop", name}, kube::PatchType::kMerge, merge, subresource), kAlice);
    world.advance(seconds(0));
    return answer;
  }
  void withdraw(const std::string& name) {
    const auto answer = patch(kube::kEvictionRequests, name, {{"spec", {{"intent", "Withdrawn"}}}});
    ASSERT_EQ(answer.status, 200) << answer.body;
  }

  Object request(const std::string& name) { return world.get(kube::kEvictionRequests, "shop", name); }
  Object eviction(const std::string& name = "pod-1-web") { return world.get(kube::kNativeEvictions, "shop", name); }
  std::string claim(const Object& object, const char* type) {
    return world.condition(object, type) + " " + world.condition(object, type, "reason");
  }
  std::vector<std::string> states(const std::string& name = "pod-1-web") {
    std::vector<std::string> found;
    for (const Json& each : (*eviction(name))["status"]["targetResponders"])
      found.push_back(api::text_at(each, {"name"}) + " " + api::text_at(each, {"state"}));
    return found;
  }
  Json entry(std::size_t index) { return (*eviction())["status"]["responders"][index]; }

  World world;
  std::unique_ptr<ApiServer> server;
  std::string uid;
};

// --- controller

TEST_F(NativeWorld, ActivatesRespondersByPriority) {
  begin("evict=5m", Json::array({{{"name", "b.acme.io/x"}, {"priority", 5000}},
                                 {{"name", "acme.io/x"}, {"priority", 5000}},
                                 {{"name", "z.dev/first"}, {"priority", 9000}}}));
  ask("r");
  EXPECT_THAT(states(),
              ElementsAre("z.dev/first Active", "acme.io/x Inactive", "b.acme.io/x Inactive", kLast + " Inactive"));
  EXPECT_EQ(claim(request("r"), "Failed"), "False AwaitingEviction");
  EXPECT_EQ(api::number_at(*request("r"), {"status", "observedGeneration"}), 1);
  EXPECT_EQ(api::find_at(*eviction(), {"metadata", "labels"}), nullptr) << "they are set later than the status";
  world.advance(seconds(1));
  const Json labels = (*eviction())["metadata"]["labels"];
  EXPECT_EQ(labels["acme.io/drain"], "requester");
  EXPECT_EQ(labels[kLast], "responder");
}

TEST_F(NativeWorld, EndsWithThePod) {
  begin("evict=20s, heartbeat=10s, eta=1m");
  ask("r");
  world.advance(seconds(11));
  EXPECT_EQ(api::text_at(entry(0), {"message"}), "at work");
  EXPECT_FALSE(api::text_at(entry(0), {"expectedCompletionTime"}).empty());
  world.advance(minutes(2));
  EXPECT_EQ(world.pod("web"), nullptr);
  EXPECT_EQ(claim(request("r"), "TargetEvicted"), "True PodDeleted");
  EXPECT_EQ(claim(request("r"), "Failed"), "False Succeeded");
  EXPECT_THAT(states(), ElementsAre("acme.io/db Completed", kLast + " Inactive"));
}

TEST_F(NativeWorld, ActivatesTheNextResponderIfOneDeclinesOrDies) {
  begin("acme.io/db: decline=5s; b.io/dead: silent",
        Json::array({{{"name", "acme.io/db"}, {"priority", 10000}}, {{"name", "b.io/dead"}, {"priority", 5000}}}));
  ask("r");
  world.advance(seconds(6));
  EXPECT_THAT(states(), ElementsAre("acme.io/db Completed", "b.io/dead Active", kLast + " Inactive"));
  world.advance(minutes(20));
  EXPECT_EQ(states().at(1), "b.io/dead Interrupted");
  world.advance(minutes(1));
  EXPECT_EQ(world.pod("web"), nullptr) << "the last one evicts";
}

TEST_F(NativeWorld, CreatesTheNextEvictionAfterAFailureWhileARequesterIsLeft) {
  begin("decline=1s", default_responders(), {}, {kLast});
  ask("r");
  world.advance(minutes(21));
  EXPECT_EQ(claim(eviction(), "Failed"), "True NoFurtherResponder");
  ASSERT_TRUE(eviction("pod-2-web"));
  EXPECT_EQ(claim(request("r"), "Failed"), "False AwaitingEviction") << "the request looks well again";
  withdraw("r");
  EXPECT_EQ(claim(eviction("pod-2-web"), "Failed"), "True CanceledDueToNoRequesters");
  EXPECT_EQ(claim(request("r"), "Failed"), "True CanceledDueToNoRequesters");
  world.remove(kube::kEvictionRequests, "shop", "r");
  world.advance(seconds(1));
  EXPECT_TRUE(world.cluster.store().list(kube::kNativeEvictions, "shop").empty()) << "the garbage collector's";
}

TEST_F(NativeWorld, ContinuesWhileOneRequesterIsLeft) {
  begin("evict=5m");
  ask("a", "acme.io/a");
  ask("b", "acme.io/b");
  EXPECT_EQ(world.cluster.store().list(kube::kNativeEvictions, "shop").size(), 1u);
  withdraw("a");
  EXPECT_EQ(states().at(0), "acme.io/db Active");
  world.remove(kube::kEvictionRequests, "shop", "b");
  world.advance(seconds(1));
  EXPECT_EQ(states().at(0), "acme.io/db Canceled");
  world.advance(minutes(10));
  EXPECT_TRUE(world.pod("web"));
}

TEST_F(NativeWorld, RefusesInvalidRequests) {
  begin();
  Json body = request_body("gone");
  body["spec"]["target"]["pod"]["name"] = "nobody";
  ASSERT_EQ(post(body).status, 201);
  body = request_body("other");
  body["spec"]["target"]["pod"]["uid"] = "00000000-0000-4000-8000-000000000000";
  ASSERT_EQ(post(body).status, 201);
  world.advance(seconds(0));
  EXPECT_EQ(claim(request("gone"), "Failed"), "True EvictionInvalid");
  EXPECT_EQ(api::text_at(*condition_of(*request("gone"), "Failed"), {"message"}), "Target pod not found.");
  EXPECT_EQ(claim(request("other"), "Failed"), "True EvictionInvalid");
  EXPECT_TRUE(world.cluster.store().list(kube::kNativeEvictions, "shop").empty());
}

TEST_F(NativeWorld, TheDefaultResponderHonoursBudgets) {
  begin("decline=1s");
  world.edit(kube::kPods, "shop", "web", [](Json& pod) { pod["metadata"]["labels"] = {{"app", "web"}}; });
  world.add(objects::pdb_min_available("shop", "web", "web", 1));
  ask("r");
  world.advance(seconds(30));
  EXPECT_TRUE(world.pod("web"));
  EXPECT_THAT(api::text_at(entry(1), {"message"}), HasSubstr("/eviction subresource failed (attempts="));
  world.remove(kube::kPdbs, "shop", "web");
  world.advance(minutes(11));
  EXPECT_EQ(world.pod("web"), nullptr);
}

TEST_F(NativeWorld, SupportsTheDrafts) {
  Options options;
  options.draft_names = true;
  begin("evict=5m", default_responders(), options);
  Json body = request_body("r");
  body["spec"].erase("requester");
  body["spec"]["requesterName"] = "acme.io/db";  // The requester is also a responder
  ASSERT_EQ(post(body).status, 201);
  world.advance(seconds(1));
  EXPECT_EQ(api::text_at(*eviction(), {"metadata", "labels", "acme.io/db"}), "requesterresponder");
}

// --- validation by the API server

struct RequestCase {
  const char* name;
  const char* path;
  Json value;
  const char* complaint;
};

TEST_F(NativeWorld, ChecksRequests) {
  begin();
  const RequestCase cases[] = {
      {"reserved", "/spec/requester", "x.k8s.io/y", "reserved"},
      {"bare", "/spec/requester", "drain", "domain-prefixed"},
      {"intent", "/spec/intent", "Maybe", "Unsupported value"},
      {"uid", "/spec/target/pod/uid", "ABC", "lowercase UUID"},
      {"target", "/spec/target", Json::object(), "exactly one"},
  };
  for (const auto& each : cases) {
    Json body = request_body(each.name);
    body[Json::json_pointer(each.path)] = each.value;
    const auto answer = post(body);
    EXPECT_EQ(answer.status, 422) << each.name;
    EXPECT_THAT(answer.body, HasSubstr(each.complaint)) << each.name;
  }
  ask("r");
  EXPECT_EQ(patch(kube::kEvictionRequests, "r", {{"spec", {{"requester", "acme.io/other"}}}}).status, 422);
  EXPECT_EQ(patch(kube::kEvictionRequests, "r", {{"spec", {{"target", {{"pod", {{"name", "x"}}}}}}}}).status, 422);
}

TEST_F(NativeWorld, ValidatesReportsOfResponders) {
  begin("silent");
  ask("r");
  world.advance(seconds(60));
  const auto report = [&](std::size_t index, const Json& change) {
    Json entries = (*eviction())["status"]["responders"];
    entries[index].update(change);
    return patch(kube::kNativeEvictions, "pod-1-web", {{"status", {{"responders", entries}}}}, "status").status;
  };
  const auto in = [&](int offset) { return base::format_micro_time(world.now() + seconds(offset)); };
  EXPECT_EQ(report(0, {{"heartbeatTime", in(31)}}), 422) << "clocks may differ by 30 s";
  EXPECT_EQ(report(0, {{"heartbeatTime", in(-31)}}), 422);
  EXPECT_EQ(report(0, {{"expectedCompletionTime", in(-1)}}), 422) << "that has passed";
  EXPECT_EQ(report(0, {{"message", std::string(4001, 'x')}}), 422);
  EXPECT_EQ(report(1, {{"message", "me, too"}}), 422) << "not its turn";
  EXPECT_EQ(report(0, {{"heartbeatTime", in(0)}, {"expectedCompletionTime", in(60)}, {"message", "fine"}}), 200);
  EXPECT_EQ(report(0, {{"heartbeatTime", in(-5)}}), 422) << "not backwards";
  EXPECT_EQ(report(0, {{"startTime", in(0)}}), 422) << "immutable";
  Json states = (*eviction())["status"]["targetResponders"];
  states[0]["state"] = "Interrupted";
  EXPECT_EQ(patch(kube::kNativeEvictions, "pod-1-web", {{"status", {{"targetResponders", states}}}}, "status").status,
            422)
      << "it is alive";
  EXPECT_EQ(report(0, {{"completionTime", in(0)}}), 200);
}

TEST_F(NativeWorld, ValidatesRespondersOfPods) {
  begin();
  const auto create = [&](Json responders, bool grouped = false) {
    Json pod = objects::pod("shop", "p" + world.cluster.store().new_suffix(), "1m", "1Mi");
    pod["spec"]["evictionResponders"] = std::move(responders);
    if (grouped) pod["spec"]["schedulingGroup"] = {{"podGroupName", "g"}};
    return server->handle(kube::create_request(kube::kPods, "shop", pod), kAlice);
  };
  EXPECT_EQ(create(default_responders()).status, 201);
  EXPECT_EQ(create(default_responders(), true).status, 422);
  EXPECT_THAT(create(Json::array({{{"name", "acme.io/db"}, {"priority", 500}}})).body,
              HasSubstr("priorities 0-999 are reserved for responders with *.k8s.io suffix"));
  EXPECT_EQ(create(Json::array({{{"name", "x.kubernetes.io/db"}, {"priority", 5000}}})).status, 422);
}

// --- single functions

TEST(NativeSteps, ReadScripts) {
  Json pod = objects::pod("shop", "web", "1m", "1Mi");
  EXPECT_EQ(responder_script(pod, "a.io/x").act, ResponderScript::Act::kEvict);
  objects::annotate(pod, behaviour::kResponders, "silent; a.io/x: decline=3s, heartbeat=5s,eta=1m");
  EXPECT_EQ(responder_script(pod, "b.io/y").act, ResponderScript::Act::kSilent);
  const auto script = responder_script(pod, "a.io/x");
  EXPECT_EQ(script.act, ResponderScript::Act::kDecline);
  EXPECT_EQ(script.after, base::Duration(seconds(3)));
  EXPECT_EQ(script.heartbeat, base::Duration(seconds(5)));
  EXPECT_EQ(script.eta, base::Duration(minutes(1)));
}

}  // namespace native_eviction_test
}  // namespace simulator::eviction_request
