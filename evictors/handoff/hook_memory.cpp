#include "evictors/handoff/hook_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "api/meta/names.hpp"
#include "base/text.hpp"
#include "evictors/document.hpp"

namespace evictors::handoff {
namespace {

constexpr std::string_view kNoHooks = "none";
constexpr std::string_view kJobKind = "job";
constexpr std::string_view kWebhookKind = "webhook";

std::optional<std::int64_t> number_within(std::string_view text, std::int64_t least, std::int64_t most) {
  const auto value = base::parse_number<std::int64_t>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

/// Parses "webhook 60 1 Abort backup".
std::optional<api::Hook> recalled_hook(std::string_view text) {
  const auto words = base::split(text, " ");
  const bool job = words.size() == 4 && words[0] == kJobKind;
  const bool webhook = words.size() == 5 && words[0] == kWebhookKind && api::is_dns_label(words[4]);
  if (!job && !webhook) return std::nullopt;
  const auto timeout = number_within(words[1], 1, api::bounds::kMaxHookSeconds);
  const auto retries = number_within(words[2], 0, api::bounds::kMaxHookRetries);
  const bool ignore = words[3] == to_string(api::HookFailurePolicy::kIgnore);
  if (!timeout || !retries || (!ignore && words[3] != to_string(api::HookFailurePolicy::kAbort))) return std::nullopt;
  api::Hook hook;
  hook.timeout = base::seconds(*timeout);
  hook.retries = static_cast<std::int32_t>(*retries);
  hook.on_failure = ignore ? api::HookFailurePolicy::kIgnore : api::HookFailurePolicy::kAbort;
  if (webhook) hook.service = words[4];
  return hook;
}

}  // namespace

std::string remembered_hooks(const api::EvacuationHooks& hooks) {
  std::string text;
  for (const auto& [name, member] : kHookMembers) {
    const auto& hook = hooks.*member;
    if (!hook) continue;
    text += fmt::format("{}{}={} {} {} {}", text.empty() ? "" : ", ", name, hook->is_job() ? kJobKind : kWebhookKind,
                        hook->timeout.count(), hook->retries, to_string(hook->on_failure));
    if (!hook->is_job()) text += " " + hook->service;
  }
  return text.empty() ? std::string(kNoHooks) : text;
}

std::optional<api::EvacuationHooks> parse_hooks_summary(std::string_view text) {
  if (text == kNoHooks) return api::EvacuationHooks{};
  api::EvacuationHooks hooks;
  for (const std::string_view part : base::split(text, ", ")) {
    const auto equals = part.find('=');
    const auto known =
        std::ranges::find(kHookMembers, part.substr(0, equals), [](const auto& each) { return each.first; });
    if (equals == std::string_view::npos || known == kHookMembers.end()) return std::nullopt;
    auto hook = recalled_hook(part.substr(equals + 1));
    if (!hook) return std::nullopt;
    hooks.*known->second = std::move(hook);
  }
  return hooks;
}

}  // namespace evictors::handoff
