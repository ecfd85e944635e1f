#include "rig.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/core/codec.hpp"
#include "api/json/yaml.hpp"
#include "api/meta/well_known.hpp"
#include "controllers/evacuation/origin/origin.hpp"
#include "simulator/objects.hpp"
#include "simulator/operators/background_protocol.hpp"

namespace integration {
namespace {

using api::Json;

constexpr const char* kOurUser = "system:serviceaccount:evacuator-system:evacuator";
/// Maximum number of rounds at one instant. More rounds indicate an endless loop.
constexpr int kMaxRounds = 2000;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

kube::Discovery what_the_simulator_serves(bool native) {
  kube::Discovery found;
  found.server_version = "v1.36.0";
  found.eviction_version = "v1";
  found.has_evacuations = found.has_policies = true;
  found.has_native_evictions = native;
  return found;
}

controllers::OperatorConfig configured(const api::InFlightLimits& limits, bool responds, bool places_pods,
                                       bool allows_required, bool trusts_creators) {
  controllers::OperatorConfig config;
  config.in_flight = limits;
  config.cooldown = {};
  config.responder_enabled = responds;
  config.webhook.enabled = places_pods;
  config.webhook.allow_required = allows_required;
  config.webhook.admission.trust_creators = trusts_creators;
  return config;
}

}  // namespace

Operator::Operator(simulator::ApiServer& server, const base::ManualClock& clock, std::string identity,
                   api::InFlightLimits limits, controllers::evacuation::ServiceCaller* services, bool responds,
                   controllers::UsageSourceFactory usage_sources, controllers::GateClientFactory gates,
                   bool places_pods, bool allows_required, bool trusts_creators, controllers::SpanSink* spans)
    : wall(clock),
      transport(server, {kOurUser, {}, "evacuator"}),
      client_(transport, nullptr),
      operator_({.client = client_,
                 .clock = wall,
                 .discovery = what_the_simulator_serves(responds),
                 .config = configured(limits, responds, places_pods, allows_required, trusts_creators),
                 .identity = std::move(identity),
                 .may_act = [this] { return may_act; },
                 .events = *this,
                 .metrics = metrics,
                 .log = {},
                 .services = services,
                 .steady = &clock,
                 .usage_sources = std::move(usage_sources),
                 .gates = std::move(gates),
                 .hints_in_force = [] { return true; },
                 .spans = spans}) {}

std::optional<std::string> Operator::review(std::string_view path, std::string_view body) {
  if (!informers_frozen) follow();
  if (path.starts_with("/validate?")) return operator_.validate_object(body);
  if (path.starts_with("/record-creator?")) return operator_.record_creator(body);
  return operator_.review_pod(body);
}

void Operator::follow() {
  for (int i = 0; i < kMaxRounds && operator_.poll_caches(); ++i) {
  }
}

bool Operator::poll() {
  bool any = false;
  for (int i = 0; i < kMaxRounds && !informers_frozen && operator_.poll_caches(); ++i) any = true;
  // Reconciles one key at a time, so that the watches deliver each write before the next key.
  return operator_.reconcile_one() || any;
}

Rig::Rig() {
  cluster = std::make_unique<simulator::Cluster>(clock);
  simulator::ApiServerOptions options;
  options.call_webhook = [this](const simulator::WebhookCall& call) -> base::Result<std::string> {
    const auto answer = replica && webhook_answers ? replica->review(call.path, call.body) : std::nullopt;
    return answer ? base::Result<std::string>(*answer) : base::unavailable("connection refused");
  };
  server = std::make_unique<simulator::ApiServer>(cluster->store(), std::move(options));
  install_crds();
  server->add_webhook(simulator::background_webhook(cluster->store()));
  guard_evictions();
}

Rig::~Rig() {
  check_journal();
  for (const std::string& each : violations_) ADD_FAILURE() << each;
  for (const std::string& each : cluster->failures()) ADD_FAILURE() << "simulator: " << each;
}

void Rig::install_crds() {
  for (const char* file : {"evacuator.dev_evacuations.yaml", "evacuator.dev_deschedulerpolicies.yaml",
                           "evacuator.dev_resourceadvices.yaml"}) {
    static std::map<std::string, base::Result<std::vector<Json>>> parsed;  // cached because tests build many clusters
    auto at = parsed.find(file);
    if (at == parsed.end())
      at = parsed.emplace(file, api::parse_yaml(read_file(std::string(EVACUATOR_SOURCE_DIR "/crds/") + file))).first;
    const auto& documents = at->second;
    ASSERT_TRUE(documents) << documents.error().message;
    for (const Json& each : *documents) {
      const auto done = server->install_crd(each);
      ASSERT_TRUE(done) << done.error().message;
    }
  }
}

/// Checks I3, I8 and I10 on the server: for every eviction of the operator its own unresolved intent is stored, the
/// eviction names the pod's UID, and a pod that requires a handoff has confirmed this very token.
void Rig::guard_evictions() {
  simulator::Webhook guard;
  guard.name = "guard.test";
  guard.review = [this](const simulator::AdmissionRequest& request) -> std::optional<simulator::Denial> {
    if (request.subresource != "eviction" || request.user.name != kOurUser) return std::nullopt;
    const Json& body = *request.object;
    const std::string token = body["metadata"]["annotations"].value("evacuator.dev/evacuation-token", "");
    bool intended = false;
    for (const auto& object : cluster->store().list(kube::kEvacuations, request.key.ns)) {
      const auto evacuation = api::decode_evacuation(*object);
      if (!evacuation || !evacuation->status.intent || evacuation->status.intent->token != token) continue;
      intended |= !evacuation->status.intent->resolved && evacuation->status.intent->action == "PostEviction";
    }
    if (!intended) violations_.push_back("I3: an eviction without a durable unresolved intent, token " + token);
    if (!body["deleteOptions"]["preconditions"].contains("uid"))
      violations_.push_back("I8: an eviction without UID precondition");
    const auto pod = cluster->store().get(kube::kPods, request.key);
    if (!pod || request.dry_run) return std::nullopt;
    const Json annotations = (*pod)["metadata"].value("annotations", Json::object());
    const bool required = annotations.value("handoff.evacuator.dev/mode", "") == "required";
    if (required && annotations.value("handoff.evacuator.dev/ready-to-evict", "") != token) {
      violations_.push_back("I10: a required pod was evicted without its word, token " + token);
    }
    return std::nullopt;
  };
  server->add_webhook(guard);
}

/// Checks I2 over the complete run: the operator's identity never deletes a pod, and writes nothing of a pod except
/// annotations by patch.
void Rig::check_journal() {
  for (const auto& entry : server->journal().entries()) {
    if (entry.user != kOurUser || entry.resource != "pods") continue;
    if (entry.verb == "delete" || entry.verb == "deletecollection")
      violations_.push_back("I2: we deleted pod " + entry.key.name);
    if (entry.verb == "update") violations_.push_back("we updated pod " + entry.key.name);
  }
}

void Rig::add(Json object) {
  const auto added = cluster->add(std::move(object));
  ASSERT_TRUE(added) << added.error().message;
}

void Rig::stage(int replicas, std::vector<std::pair<std::string, std::string>> annotations) {
  namespace objects = simulator::objects;
  add(objects::name_space("shop"));
  for (const char* node : {"node-a", "node-b", "node-c"}) add(objects::node(node, "8", "16Gi"));
  Json web = objects::deployment("shop", "web", replicas, "100m", "64Mi");
  for (const auto& [key, value] : annotations) objects::annotate_pods(web, key, value);
  if (!responders.is_null()) objects::template_of(web)["spec"]["evictionResponders"] = responders;
  add(std::move(web));
  const auto wanted = static_cast<std::size_t>(replicas);
  ASSERT_TRUE(run_until([&] { return pods().size() == wanted; }, std::chrono::minutes(2)));
  run_for(base::seconds(60));  // the pods are Ready, and the disruption controller has seen them
}

void Rig::budget(const std::string& name, const std::string& app, int min_available) {
  add(simulator::objects::pdb_min_available("shop", name, app, min_available));
  settle();
}

std::vector<std::string> Rig::pods(const std::string& app) const {
  std::vector<std::string> names;
  for (const auto& pod : cluster->store().list(kube::kPods, "shop")) {
    const Json& meta = (*pod)["metadata"];
    if (meta.contains("deletionTimestamp") || meta.value("labels", Json::object()).value("app", "") != app) continue;
    if ((*pod)["status"].value("phase", "") == "Running") names.push_back(meta["name"]);
  }
  return names;
}

Json Rig::evacuation_of(const std::string& pod, const std::function<void(Json& spec)>& edit) const {
  const std::string uid = pod_uid(pod);
  Json spec = {{"podRef", {{"name", pod}, {"uid", uid}}}, {"reason", "test"}};
  if (edit) edit(spec);
  return {{"apiVersion", "evacuator.dev/v1alpha1"},
          {"kind", "Evacuation"},
          {"metadata", {{"name", fmt::format("{}-{}", pod, uid.substr(0, 8))}, {"namespace", "shop"}}},
          {"spec", spec}};
}

std::string Rig::create(const Json& body, const std::string& user) {
  const auto answer = server->handle(kube::create_request(kube::kEvacuations, "shop", body), {user, {}, "kubectl"});
  EXPECT_EQ(answer.status, 201) << answer.body;
  return body["metadata"]["name"];
}

std::string Rig::evacuate(const std::string& pod, const std::function<void(Json& spec)>& edit) {
  return create(evacuation_of(pod, edit));
}

std::string Rig::evacuate_as_operator(const std::string& pod, const std::function<void(Json& spec)>& edit) {
  return create(signed_now(evacuation_of(
                    pod,
                    [&](Json& spec) {
                      spec["nodeName"] = (*cluster->store().get(kube::kPods, {"shop", pod}))["spec"]["nodeName"];
                      if (edit) edit(spec);
                    })),
                kOurUser);
}

Json Rig::signed_now(Json body) const {
  const auto decoded = api::decode_evacuation(body);
  EXPECT_TRUE(decoded) << decoded.error().message;
  const auto keys = controllers::process_keys().keys();
  const api::Evacuation made = controllers::with_origin(*decoded, keys->current, clock.now());
  const std::string origin(api::well_known::kOriginAnnotation);
  body["metadata"]["annotations"][origin] = made.meta.annotations.value(origin);
  return body;
}

void Rig::start_operator(const std::string& identity) {
  replica = std::make_unique<Operator>(*server, clock, identity, limits, services, responds, usage_sources, gates,
                                       places_pods, allows_required, trusts_creators, spans);
  settle();
}

void Rig::settle() {
  for (int i = 0; i < kMaxRounds; ++i) {
    bool busy = !cluster->run_until_quiet();
    if (replica) busy |= replica->poll();
    if (watcher) watcher();
    if (!busy) return;
  }
  ADD_FAILURE() << "somebody goes in circles at " << base::format_time(clock.now());
}

bool Rig::run_until(const std::function<bool()>& condition, base::Duration limit) {
  const base::TimePoint end = clock.now() + limit;
  for (;;) {
    settle();
    if (condition()) return true;
    if (clock.now() >= end || testing::Test::HasFailure()) return false;
    base::TimePoint next = std::min(end, clock.now() + base::seconds(10));
    const auto due = replica ? replica->next_due() : std::nullopt;
    if (due && *due > clock.now()) next = std::min(next, *due);
    const auto cluster_due = cluster->next_due();
    if (cluster_due && *cluster_due > clock.now()) next = std::min(next, *cluster_due);
    cluster->advance(next - clock.now());
  }
}

void Rig::run_for(base::Duration time) {
  run_until([] { return false; }, time);
}

void Rig::drive(controllers::Operator& op, kube::EventRecorder& events, base::Duration time) {
  const base::TimePoint end = clock.now() + time;
  for (;;) {
    for (bool busy = true; busy;) busy = !cluster->run_until_quiet() || op.step();
    events.drain();
    if (clock.now() >= end) return;
    base::TimePoint next = clock.now() + base::seconds(1);
    if (const auto due = op.next_due(); due && *due > clock.now()) next = std::min(next, *due);
    cluster->advance(next - clock.now());
  }
}

bool Rig::run_to_end(const std::string& name, base::Duration limit) {
  return run_until([&] { return has_ended(name); }, limit);
}

bool Rig::run_to_end_over_deaths(const std::vector<std::string>& names, base::Duration limit,
                                 const std::function<void()>& meanwhile) {
  const auto done = [&] {
    if (replica->transport.dead()) start_operator("second");
    if (meanwhile) meanwhile();
    return std::ranges::all_of(names, [&](const std::string& each) { return has_ended(each); });
  };
  return run_until(done, limit);
}

void Rig::patch_evacuation(const std::string& name, const Json& merge) {
  const auto answer =
      server->handle(kube::patch_request(kube::kEvacuations, {"shop", name}, kube::PatchType::kMerge, merge),
                     {"alice", {}, "kubectl"});
  EXPECT_EQ(answer.status, 200) << answer.body;
}

void Rig::cancel(const std::string& name) { patch_evacuation(name, {{"spec", {{"cancel", {{"requested", true}}}}}}); }

void Rig::delete_evacuation(const std::string& name) {
  const auto answer =
      server->handle(kube::delete_request(kube::kEvacuations, {"shop", name}, ""), {"alice", {}, "kubectl"});
  EXPECT_EQ(answer.status, 200) << answer.body;
}

void Rig::edit(const kube::ResourceType& type, const std::string& name, const std::function<void(Json&)>& change,
               const std::string& ns) {
  const auto done = cluster->store().mutate(type, {ns, name}, simulator::Part::kAll, [&](Json& object) -> base::Status {
    change(object);
    return base::Done{};
  });
  EXPECT_TRUE(done) << done.error().message;
}

void Rig::install_webhooks(const std::string& folder) {
  const auto documents = api::parse_yaml(read_file(EVACUATOR_SOURCE_DIR "/config/" + folder + "/webhook.yaml"));
  ASSERT_TRUE(documents) << documents.error().message;
  for (const Json& each : *documents) {
    const bool mutates = each["kind"] == "MutatingWebhookConfiguration";
    const kube::ResourceType type{"admissionregistration.k8s.io", "v1",
                                  mutates ? "mutatingwebhookconfigurations" : "validatingwebhookconfigurations",
                                  mutates ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration", false};
    const auto answer = server->handle(kube::create_request(type, "", each), {"admin", {}, "kubectl"});
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
}

void Rig::annotate(const std::string& pod, const std::string& key, const std::optional<std::string>& value) {
  edit(kube::kPods, pod, [&](Json& object) {
    if (value) {
      object["metadata"]["annotations"][key] = *value;
    } else if (object["metadata"].contains("annotations")) {
      object["metadata"]["annotations"].erase(key);
    }
  });
}

std::optional<api::Evacuation> Rig::find(const std::string& name) const {
  const auto object = cluster->store().get(kube::kEvacuations, {"shop", name});
  if (!object) return std::nullopt;
  auto decoded = api::decode_evacuation(*object);
  EXPECT_TRUE(decoded) << decoded.error().message;
  return decoded ? std::optional(*std::move(decoded)) : std::nullopt;
}

api::Evacuation Rig::get(const std::string& name) const {
  auto found = find(name);
  EXPECT_TRUE(found) << "no Evacuation " << name;
  return found.value_or(api::Evacuation{});
}

bool Rig::has_ended(const std::string& name) const {
  const auto now = find(name);
  return now && api::is_terminal(now->status.phase) && now->meta.finalizers.empty();
}

std::string Rig::condition(const std::string& name, std::string_view type) const {
  const api::Evacuation evacuation = get(name);
  const auto* found = api::find_condition(evacuation.status.conditions, type);
  return found ? found->reason : "";
}

api::DeschedulerPolicyStatus Rig::policy_status(const std::string& policy) const {
  const auto decoded = api::decode_descheduler_policy(*cluster->store().get(kube::kPolicies, {"", policy}));
  EXPECT_TRUE(decoded) << decoded.error().message;
  return decoded ? decoded->status : api::DeschedulerPolicyStatus();
}

api::Condition Rig::policy_condition(const std::string& policy, std::string_view type) const {
  const auto status = policy_status(policy);
  const auto* found = api::find_condition(status.conditions, type);
  return found ? *found : api::Condition{};
}

std::string Rig::policy_words(const std::string& policy, std::string_view type) const {
  const api::Condition found = policy_condition(policy, type);
  return found.reason.empty() ? "" : found.reason + ": " + found.message;
}

std::size_t Rig::evacuation_count() const { return cluster->store().list(kube::kEvacuations, "shop").size(); }

std::string Rig::annotation(const std::string& pod, const std::string& key) const {
  const auto object = cluster->store().get(kube::kPods, {"shop", pod});
  return object ? (*object)["metadata"].value("annotations", Json::object()).value(key, "") : "";
}

bool Rig::pod_exists(const std::string& pod) const {
  return cluster->store().get(kube::kPods, {"shop", pod}) != nullptr;
}

std::string Rig::pod_uid(const std::string& pod) const {
  const auto object = cluster->store().get(kube::kPods, {"shop", pod});
  return object ? (*object)["metadata"]["uid"].get<std::string>() : "";
}

bool Rig::has_event(const std::string& reason) const {
  return replica && std::any_of(replica->events.begin(), replica->events.end(),
                                [&](const std::string& event) { return event.ends_with(" " + reason); });
}

std::vector<simulator::JournalEntry> Rig::evictions() const {
  std::vector<simulator::JournalEntry> found;
  for (const auto& entry : server->journal().entries()) {
    if (entry.user == kOurUser && entry.subresource == "eviction") found.push_back(entry);
  }
  return found;
}

std::size_t Rig::granted() const {
  std::set<std::string> uids;
  for (const auto& entry : evictions()) {
    if (entry.code == 201 && !entry.dry_run) uids.insert(entry.uid);
  }
  return uids.size();
}

}  // namespace integration
