/// Any JSON as an Evacuation, its pod (including handoff annotations) and related documents: objects of KubeVirt and of
/// databases, EvictionRequests, Jobs of hooks, workloads, answers of services. No evictor crashes, each reads few
/// documents, no call leaves the Evacuation's namespace, and an eviction names the pod's UID. Input: {"evacuation":
/// {…}, "pod": {…}, "documents": {name: object, text or HTTP status}, "code": n, "answer": …}.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/codec.hpp"
#include "api/eviction_request.hpp"
#include "api/json/json_access.hpp"
#include "api/meta/names.hpp"
#include "evictors/handoff/protocol.hpp"
#include "evictors/registry.hpp"

namespace {

using api::Json;
using evictors::Action;
using evictors::Document;
using evictors::Evictor;
using evictors::EvictorContext;

constexpr int kMaxRounds = 10;
constexpr std::size_t kMaxReads = 64;
constexpr const char* kSource = "node-a";

void require(bool holds) {
  if (!holds) std::abort();
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : api::to_json_text(value);
}

struct World {
  api::Evacuation evacuation;
  api::Pod pod;
  Json documents;
  evictors::CallResult answer = base::unavailable("no answer");
};

/// Returns nullopt if an API server would not store such objects.
std::optional<World> world_of(const Json& input) {
  World world;
  const Json* stored = api::find_at(input, {"evacuation"});
  auto evacuation = stored ? api::decode_stored_evacuation(*stored) : base::invalid("none");
  const Json* pod = api::find_at(input, {"pod"});
  auto decoded = pod ? api::decode_pod(api::to_json_text(*pod)) : base::invalid("none");
  if (!evacuation || !decoded) return std::nullopt;
  world.evacuation = *std::move(evacuation);
  world.pod = *std::move(decoded);
  const auto& reference = world.evacuation.spec.pod_ref;
  if (!api::is_dns_label(world.evacuation.meta.ns) || !api::is_dns_subdomain(reference.name)) return std::nullopt;
  if (!api::is_dns_subdomain(reference.uid.value)) return std::nullopt;
  world.pod.meta.ns = world.evacuation.meta.ns;
  world.pod.meta.name = reference.name;
  world.pod.meta.uid = reference.uid.value;
  if (world.pod.node_name.value.empty()) world.pod.node_name.value = kSource;
  if (const Json* found = api::find_at(input, {"documents"})) world.documents = *found;
  const auto code = api::number_at(input, {"code"});
  if (code && *code >= 100 && *code < 600) {
    const Json* body = api::find_at(input, {"answer"});
    world.answer = kube::Response{static_cast<int>(*code), body ? text_of(*body) : "", {}, ""};
  }
  return world;
}

Document document_of(const World& world, const std::string& name) {
  const Json* found = api::find_at(world.documents, {name});
  if (!found) return {name, 404, "{}"};
  if (const auto status = api::number_at(world.documents, {name}))
    return {name, static_cast<std::int32_t>(std::clamp<std::int64_t>(*status, 0, 599)), "no"};
  return {name, 200, text_of(*found)};
}

/// Checks that no character ends the request line or leaves the path.
void check_request(const kube::Request& request) {
  const auto is_plain = [](char c) { return c > ' ' && c < 0x7f; };
  require(request.path.starts_with('/'));
  require(std::ranges::all_of(request.path, is_plain) && std::ranges::all_of(request.query, is_plain));
  require(request.path.find_first_of("?#") == std::string::npos && request.query.find('#') == std::string::npos);
  const std::string segments = request.path + "/";
  require(segments.find("/../") == std::string::npos && segments.find("/./") == std::string::npos);
}

void check_action(const World& world, const Action& action) {
  require(!action.name.empty());
  check_request(action.request);
  if (!action.service.empty()) return require(!action.service_use.empty());
  const std::string ns = "/namespaces/" + world.evacuation.meta.ns + "/";
  require(action.request.path.find(ns) != std::string::npos);
  if (!action.request.path.ends_with("/eviction")) return;
  const auto body = api::parse_json(action.request.body);
  require(body && api::text_at(*body, {"deleteOptions", "preconditions", "uid"}) == world.pod.meta.uid);
}

void check_actions(const World& world, const std::vector<Action>& actions) {
  for (const Action& action : actions) check_action(world, action);
}

/// Reads documents like the controller until the evictor wants no further ones.
std::vector<Document> read_all(const Evictor& evictor, const World& world, EvictorContext context) {
  std::vector<Document> documents;
  for (int round = 0; round < kMaxRounds; ++round) {
    context.documents = documents;
    std::vector<Document> fresh;
    for (const evictors::Read& read : evictor.reads(context)) {
      require(read.pods.size() <= kMaxReads);
      if (read.pods.empty()) check_request(read.request);
      if (context.document(read.name) == nullptr) fresh.push_back(document_of(world, read.name));
    }
    if (fresh.empty()) return documents;
    std::ranges::move(fresh, std::back_inserter(documents));
    require(documents.size() <= kMaxReads);
  }
  std::abort();  // The evictor always wants further documents
}

void check_with_pod(const Evictor& evictor, const World& world, const EvictorContext& context) {
  static_cast<void>(evictor.probe(context));
  static_cast<void>(evictor.needs_capacity(context));
  static_cast<void>(evictor.owner_decides(context));
  static_cast<void>(evictor.advice(context));
  static_cast<void>(evictor.remains(context));
  static_cast<void>(evictor.is_in_service(context, world.pod));
  require(evictor.call_timeout(context) >= evictors::kCallTimeout);
  const auto seen = evictor.observe(context);
  require(!seen.progress || (*seen.progress >= 0 && *seen.progress <= 100));
  const auto step = evictor.plan(context);
  require((step.next == evictors::NextMove::kAct) == step.action.has_value());
  if (step.action) {
    check_action(world, *step.action);
    require(evictor.classify(context, *step.action, world.answer).message.size() <= 1024);
  }
  if (const auto action = evictor.departing(context)) check_action(world, *action);
  check_actions(world, evictor.undo(context));
  static_cast<void>(evictor.undone(context));
  check_actions(world, evictor.cleanup(context));
}

void check_evictor(const Evictor& evictor, const World& world) {
  static const std::vector<std::string> kServices = {"backup", "mover"};
  EvictorContext context{world.evacuation, &world.pod, *base::parse_time("2026-11-21T12:00:00Z"), {}, "v1"};
  context.services = kServices;
  for (const auto& choice : world.evacuation.spec.evictors) {
    if (choice.name == evictor.name()) context.parameters = choice.parameters;
  }
  if (!evictor.validate(context.parameters, api::FieldPath("parameters")).empty()) return;  // Such a spec is refused
  for (const bool is_gone : {false, true}) {
    context.pod = is_gone ? nullptr : &world.pod;
    const auto documents = read_all(evictor, world, context);
    context.documents = documents;
    if (!is_gone) check_with_pod(evictor, world, context);
    if (const auto action = evictor.verify(context).action) check_action(world, *action);
    check_actions(world, evictor.leftovers(context));
    static_cast<void>(evictor.awaits_cleanup(context));
  }
}

/// Signs with another token must be ignored.
void check_signs(const api::Pod& pod) {
  const std::string nobodys(300, 'n');
  require(evictors::handoff::read_signs(pod, nobodys) == evictors::handoff::Signs{});
  require(evictors::handoff::read_signs(pod, "") == evictors::handoff::Signs{});
  const auto capability = evictors::handoff::read_capability(pod);
  if (!capability || !capability->timeout) return;
  require(*capability->timeout >= base::seconds(1) && *capability->timeout <= base::seconds(86400));
}

void check_native(std::string_view text) {
  static_cast<void>(api::decode_eviction_request(text));
  const auto eviction = api::decode_native_eviction(text);
  if (!eviction) return;
  require(!eviction->meta.name.empty());
  if (const auto* active = eviction->active()) require(eviction->responder(active->name) != nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const evictors::EvictorRegistry kRegistry = evictors::EvictorRegistry::builtin();
  const auto input = api::parse_json({reinterpret_cast<const char*>(data), size});
  if (!input || !input->is_object()) return 0;
  for (const char* name : {"request", "eviction"}) {
    if (const Json* found = api::find_at(*input, {"documents", name})) check_native(text_of(*found));
  }
  const auto world = world_of(*input);
  if (!world) return 0;
  check_signs(world->pod);
  for (const std::string_view name : kRegistry.names()) check_evictor(*kRegistry.find(name), *world);
  return 0;
}
