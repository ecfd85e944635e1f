#include "test/soak/watches/call_watch.hpp"

#include <fmt/format.h>
#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "kube/kubevirt.hpp"
#include "simulator/objects.hpp"
#include "test/soak/world/postgres.hpp"

namespace soak {
namespace {

using api::Json;
using api::text_at;

constexpr const char* kTokenKey = "evacuator.dev/evacuation-token";
constexpr const char* kRequestKey = "handoff.evacuator.dev/request";
constexpr const char* kAbortKey = "handoff.evacuator.dev/abort";
constexpr const char* kSurgeKey = "surge.evacuator.dev/in-progress";
constexpr base::milliseconds kMinGap{150};  // I15: minimum time between two calls about one pod

/// Returns true for the operator's own objects, which need no intent.
bool is_bookkeeping(const std::string& plural) {
  static const std::vector<std::string> kOurs = {"evacuations", "deschedulerpolicies",      "events",
                                                 "leases",      "selfsubjectaccessreviews", "evictions",
                                                 "nodes"};  // taints: checked by PolicyWatch
  return std::ranges::find(kOurs, plural) != kOurs.end();
}

std::string annotation_of(const Json& object, const char* key) {
  return api::text_at(object, {"metadata", "annotations", key});
}

/// Returns the token in the body, empty if it has none.
std::string token_in(const Json& body) {
  if (!body.is_object()) return {};
  for (const char* key : {kTokenKey, kRequestKey, kAbortKey}) {
    if (std::string found = annotation_of(body, key); !found.empty()) return found;
  }
  return {};
}

bool is_dry(const simulator::RequestInfo& info, const Json& body) {
  if (info.query.value("dryRun") == "All") return true;
  const Json options = body.is_object() ? body.value("deleteOptions", Json::object()) : Json::object();
  return options.is_object() && options.contains("dryRun");
}

std::optional<kube::ResourceType> type_of(const simulator::RequestInfo& info) {
  for (const kube::ResourceType& type : simulator::known_types()) {
    if (type.plural == info.plural && type.group == info.group) return type;
  }
  if (info.plural == kube::kVmims.plural) return kube::kVmims;
  if (info.plural == kube::kEvictionRequests.plural && info.group == kube::kEvictionRequests.group)
    return kube::kEvictionRequests;
  return std::nullopt;
}

/// Returns true if the operator has completed its turn as responder.
bool completed(const Json& eviction) {
  const Json* responders = api::find_at(eviction, {"status", "responders"});
  return responders && responders->is_array() && std::ranges::any_of(*responders, [](const Json& each) {
           return api::text_at(each, {"name"}) == api::well_known::kNativeResponder &&
                  !api::text_at(each, {"completionTime"}).empty();
         });
}

}  // namespace

bool has_ended(const Json& job) {
  const Json* conditions = api::find_at(job, {"status", "conditions"});
  return conditions && conditions->is_array() && std::ranges::any_of(*conditions, [](const Json& each) {
           const std::string type = api::text_at(each, {"type"});
           return (type == "Complete" || type == "Failed") && api::text_at(each, {"status"}) == "True";
         });
}

std::vector<CallWatch::Open> CallWatch::open_intents(const std::string& ns) {
  std::vector<Open> open;
  for (const auto& object : server_.store().list(kube::kEvacuations, ns)) {
    const auto& evacuation = evacuations_.of(object);
    if (!evacuation || !evacuation->status.intent || evacuation->status.intent->resolved) continue;
    open.push_back({&*evacuation, evacuation->status.intent->token});
  }
  return open;
}

simulator::Object CallWatch::object_of(const simulator::RequestInfo& info, const Json& body) const {
  const auto type = type_of(info);
  const std::string name = info.name.empty() ? api::text_at(body, {"metadata", "name"}) : info.name;
  return type && !name.empty() ? server_.store().get(*type, {info.ns, name}) : nullptr;
}

void CallWatch::before(const kube::Request& request) {
  call_.reset();
  if (request.method == "GET") return;
  Call call;
  call.info = simulator::read_request(request);
  if (call.info.plural == kube::kNativeEvictions.plural) {
    call.before = server_.store().get(kube::kNativeEvictions, {call.info.ns, call.info.name});
    call_ = std::move(call);
    return;
  }
  if (is_bookkeeping(call.info.plural)) return;
  call.body = Json::parse(request.body, nullptr, false);
  if (call.body.is_discarded()) call.body = nullptr;
  if (call.info.plural == "pods" && call.info.verb == "delete") report_("I2: we delete pod " + call.info.name);
  check_intent(call);
  if (call.info.subresource == "eviction") check_eviction(call);
  call.before = object_of(call.info, call.body);
  call.journal = server_.journal().count();
  call_ = std::move(call);
}

/// I3: every change needs a durable unresolved intent with its token. I17: a dry run makes dry-run calls only.
void CallWatch::check_intent(Call& call) {
  const auto open = open_intents(call.info.ns);
  const std::string what =
      fmt::format("{} {}/{} {}", call.info.verb, call.info.plural, call.info.subresource, call.info.name);
  call.token = token_in(call.body);
  const bool tells = !call.token.empty();
  const auto fits = [&](const Open& each) { return !tells || each.token == call.token; };
  if (std::ranges::none_of(open, fits)) {
    report_(fmt::format("I3: {} without a durable unresolved intent, token '{}'", what, call.token));
    return;
  }
  if (!tells && open.size() == 1) call.token = open.front().token;
  const bool dry =
      std::ranges::all_of(open, [&](const Open& each) { return !fits(each) || each.evacuation->spec.dry_run; });
  if (dry && !is_dry(call.info, call.body)) report_("I17: a real call for a dry run: " + what);
}

/// Checks I8 and I10.
void CallWatch::check_eviction(const Call& call) {
  const std::string& name = call.info.name;
  const std::string uid = api::text_at(call.body, {"deleteOptions", "preconditions", "uid"});
  if (uid.empty()) report_("I8: an eviction of " + name + " without UID precondition");
  std::string by;
  for (const Open& each : open_intents(call.info.ns)) {
    if (each.token != call.token) continue;
    by = each.evacuation->status.evictor;
    if (each.evacuation->status.intent->action != "PostEviction")
      report_(fmt::format("I3: pod {} is evicted on the intent {}", name, each.evacuation->status.intent->action));
    check_hooks(*each.evacuation);
    if (each.evacuation->spec.pod_ref.uid.value != uid) report_("I8: another UID, token " + call.token);
  }
  const auto pod = server_.store().get(kube::kPods, {call.info.ns, name});
  if (!pod || is_dry(call.info, call.body) || api::text_at(*pod, {"metadata", "uid"}) != uid) return;
  if (by == "stateful-handoff" && is_primary(*pod))
    report_(fmt::format("handoff: pod {} is evicted while it is the primary, token {}", name, call.token));
  const bool required = annotation_of(*pod, "handoff.evacuator.dev/mode") == "required";
  if (required && annotation_of(*pod, "handoff.evacuator.dev/ready-to-evict") != call.token)
    report_(fmt::format("I10: pod {} is evicted by {} without its word, token {}", name, by, call.token));
}

void CallWatch::after() {
  if (!call_) return;
  const Call call = *std::exchange(call_, std::nullopt);
  if (call.info.plural == kube::kNativeEvictions.plural) return check_turn(call);
  if (call.info.plural == "pods" && call.info.subresource == "eviction") check_pace(call);
  if (!is_dry(call.info, call.body)) check_effects(call);
}

/// A responder changes only its own entry, and does not complete its turn while an Evacuation is in progress.
void CallWatch::check_turn(const Call& call) {
  const auto now = server_.store().get(kube::kNativeEvictions, {call.info.ns, call.info.name});
  if (!call.before || !now || *now == *call.before) return;
  const auto without_ours = [](Json eviction) {
    for (Json& each : eviction["status"]["responders"]) {
      if (api::text_at(each, {"name"}) == api::well_known::kNativeResponder) each = nullptr;
    }
    for (const char* field : {"resourceVersion", "managedFields"}) eviction["metadata"].erase(field);
    return eviction;
  };
  if (without_ours(*call.before) != without_ours(*now))
    report_("I13: we changed more than our turn of Eviction " + call.info.name);
  if (completed(*now) && !completed(*call.before)) check_given_up(*now);
}

void CallWatch::check_given_up(const Json& eviction) {
  const std::string uid = api::text_at(eviction, {"spec", "target", "pod", "uid"});
  const api::ObjectKey name{api::text_at(eviction, {"metadata", "namespace"}),
                            api::text_at(eviction, {"spec", "target", "pod", "name"})};
  const auto pod = server_.store().get(kube::kPods, name);
  if (!pod || api::text_at(*pod, {"metadata", "uid"}) != uid) return;
  const std::string phase = api::text_at(*pod, {"status", "phase"});
  if (phase == "Succeeded" || phase == "Failed") return;  // a finalizer keeps the object; the pod has left
  for (const auto& object : server_.store().list(kube::kEvacuations, name.ns)) {
    const auto& each = evacuations_.of(object);
    const bool works = each && each->spec.pod_ref.uid.value == uid && !each->spec.dry_run && each->status.attempt > 0 &&
                       !api::is_terminal(each->status.phase) && each->status.evictor != "eviction-request";
    if (works)
      report_(fmt::format("responder: the turn for pod {} is given away while {} is {}", name.name, each->meta.name,
                          api::to_string(each->status.phase)));
  }
}

/// I15: a refused eviction is not repeated immediately. Uses the server's journal, whatever answer arrived. A request
/// that a proxy has duplicated counts once.
void CallWatch::check_pace(const Call& call) {
  const auto entry = server_.journal().newest();
  if (server_.journal().count() == call.journal || !entry || entry->code == 201) return;
  // A dry run is another Evacuation than the move of the same pod, and has a pace of its own.
  const std::string pod = entry->key.to_string() + (is_dry(call.info, call.body) ? " (dry run)" : "");
  const auto before = refused_.find(pod);
  if (before != refused_.end() && entry->time - before->second.time < kMinGap) {
    report_(fmt::format("I15: pod {} was asked for again at {} (answer {}) right after {} (answer {})", pod,
                        base::format_micro_time(entry->time), entry->code, base::format_micro_time(before->second.time),
                        before->second.code));
  }
  refused_[pod] = *entry;
}

/// Hook Jobs must have ended before the pod leaves.
void CallWatch::check_hooks(const api::Evacuation& evacuation) {
  if (evacuation.spec.dry_run) return;
  for (const char* point : {"pre", "migrate"}) {
    const std::string name = fmt::format("evac-{}-{}-{}", evacuation.meta.uid, evacuation.status.attempt, point);
    const auto job = server_.store().get(kube::kJobs, {evacuation.meta.ns, name});
    if (job && !has_ended(*job))
      report_(fmt::format("hooks: {} goes on while Job {} runs", evacuation.meta.name, name));
  }
}

/// I4: across all crashes, lost answers and failovers, the effect of a call happens at most once per attempt.
void CallWatch::check_effects(const Call& call) {
  const auto now = object_of(call.info, call.body);
  if (!now || call.token.empty()) return;
  const Json& before = call.before ? *call.before : Json();
  const auto begins = [&](const char* key) {
    return annotation_of(before, key) != call.token && annotation_of(*now, key) == call.token;
  };
  if (call.info.verb == "create" && call.info.subresource.empty() && !call.before) {
    const bool several = call.info.plural == kube::kJobs.plural;  // one for each hook
    effect(call.token, "a new " + call.info.plural + (several ? " " + api::text_at(*now, {"metadata", "name"}) : ""));
  } else if (call.info.subresource == "eviction") {
    const bool leaves = !api::text_at(*now, {"metadata", "deletionTimestamp"}).empty();
    if (leaves && api::text_at(before, {"metadata", "deletionTimestamp"}).empty()) effect(call.token, "a deletion");
  } else if (call.info.plural == "pods") {
    if (begins(kRequestKey)) effect(call.token, "a handoff request");
    if (begins(kTokenKey)) effect(call.token, "a mark");
  } else if (annotation_of(before, kSurgeKey).empty() && !annotation_of(*now, kSurgeKey).empty()) {
    effect(call.token, "a surge");
  }
}

void CallWatch::effect(const std::string& token, const std::string& what) {
  if (++effects_[{token, what}] > 1) report_(fmt::format("I4: {} more than once for token {}", what, token));
}

void CallWatch::before_service(const kube::Request& request) {
  if (request.method == "GET") return;
  const std::string token = request.path.substr(request.path.rfind('/') + 1);
  const auto open = open_intents("");
  const auto intended = std::ranges::find(open, token, &Open::token);
  if (intended == open.end()) {
    report_(fmt::format("I3: {} {} without a durable unresolved intent", request.method, request.path));
  } else if (intended->evacuation->spec.dry_run) {
    report_("I17: a dry run reaches the service, token " + token);
  }
}

}  // namespace soak
