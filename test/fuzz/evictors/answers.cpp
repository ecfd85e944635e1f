/// Any bytes as answers to our calls: from a webhook evictor's service, a hook, the eviction subresource and the
/// webhooks behind it, and as the stored hooks of an attempt. No crash, an answer for another token is ignored, and
/// stored values have limited sizes. The first byte selects the kind, the second the HTTP status.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "evictors/classify.hpp"
#include "evictors/handoff/hook_memory.hpp"
#include "evictors/handoff/hooks.hpp"
#include "evictors/webhook/contract.hpp"
#include "test/builders/origin.hpp"

namespace {

using evictors::Classification;

constexpr std::size_t kMaxMessage = 512;
constexpr std::size_t kMaxRef = 512;
constexpr const char* kToken = "e5b3.1";

void require(bool holds) {
  if (!holds) std::abort();
}

void check_kept(const Classification& meaning) {
  require(meaning.message.size() <= kMaxMessage);
  if (meaning.blocker) require(meaning.blocker->message.size() <= kMaxMessage && meaning.blocker->name.size() <= 253);
  for (const auto& [name, value] : meaning.refs) require(!name.empty() && value.size() <= kMaxRef);
  if (!evictors::is_blocked(meaning.answer)) return;
  for (const int times : {1, 1000}) require(evictors::blocked_delay(meaning, times, 7) > base::Duration::zero());
}

void check_service_status(std::string_view body) {
  namespace webhook = evictors::webhook;
  const auto status = webhook::parse_service_status(body, kToken);
  if (!status) return require(!status.error().message.empty() && status.error().message.size() < 1024);
  require(!webhook::parse_service_status(body, "e5b3.2"));
  require(!status->progress || (*status->progress >= 0 && *status->progress <= 100));
  require(status->message.size() <= 1024 && status->reason.size() <= 64);
  require(status->target.size() <= 253 && status->heartbeat.size() <= 253);
  require(status->state != webhook::ServiceState::kMoved || status->evict_by == webhook::EvictBy::kService);
  require(webhook::may_follow(status->state, status->state));
}

/// An Evacuation created by policy `safe`, whose hook `pre` is a service.
api::Evacuation hooked() {
  api::Evacuation of;
  of.meta.ns = "shop";
  of.meta.name = "web-1-7c1a8c1e";
  of.meta.uid = "e5b3";
  of.spec.pod_ref = {"web-1", {"7c1a8c1e"}};
  of.spec.evictors = {{"stateful-handoff", {}}};
  of.status.phase = api::EvacuationPhase::kPreparing;
  of.status.token = kToken;
  builders::set_policy(of, "safe");
  return of;
}

void check_hook(int code, std::string_view body) {
  using namespace evictors::handoff;
  static const std::array<evictors::Document, 1> kDocuments = {
      {{"policy", 200,
        R"({"metadata":{"name":"safe"},"spec":{"evacuation":{"evictors":[{"name":"stateful-handoff"}],)"
        R"("hooks":{"pre":{"webhook":{"service":"backup"},"timeoutSeconds":60,"retries":1}}}}})"}}};
  static const api::Evacuation kOf = hooked();
  static const api::Pod kPod;
  evictors::EvictorContext context{kOf, &kPod, *base::parse_time("2026-11-21T12:00:00Z"), {}, "v1"};
  context.documents = kDocuments;
  const PolicyHooks hooks = policy_hooks(context);
  require(hooks.at(HookPoint::kPre) != nullptr);
  const evictors::Action action = hook_action(context, hooks, HookPoint::kPre);
  check_kept(classify_hook(context, action, kube::Response{code, std::string(body), {}, ""}));
}

void check_eviction(int code, std::string_view body) {
  const evictors::CallResult answer = kube::Response{code, std::string(body), {}, ""};
  const bool is_success = code >= 200 && code < 300;
  for (const auto& meaning : {evictors::classify_eviction(answer), evictors::classify_patch(answer),
                              evictors::classify_call(answer, evictors::kMigrationTexts)}) {
    check_kept(meaning);
    require(is_success || meaning.answer != evictors::ResponseClass::kGranted);
  }
  check_kept(evictors::classify_eviction(answer, evictors::kKubeVirtTexts));
}

void check_memory(std::string_view text) {
  using namespace evictors::handoff;
  const auto hooks = parse_hooks_summary(text);
  if (!hooks) return;
  const std::string again = remembered_hooks(*hooks);
  require(again.size() <= kMaxRef);
  require(parse_hooks_summary(again) == hooks);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  constexpr std::array kCodes = {200, 201, 202, 204, 302, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504};
  const int code = kCodes[data[1] % kCodes.size()];
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  switch (data[0] % 4) {
    case 0: check_service_status(body); break;
    case 1: check_hook(code, body); break;
    case 2: check_eviction(code, body); break;
    default: check_memory(body); break;
  }
  return 0;
}
