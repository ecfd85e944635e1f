#pragma once

/// Summary of the policy's hooks in the attempt's status, used if the policy is deleted before the attempt ends
/// (ADR 0010). Pure; part of hooks.hpp.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/hooks.hpp"

namespace evictors::handoff {

using HookMember = std::optional<api::Hook> api::EvacuationHooks::*;
/// Hooks with their names, in the order of HookPoint.
inline constexpr std::array<std::pair<std::string_view, HookMember>, 4> kHookMembers = {
    {{"pre", &api::EvacuationHooks::pre},
     {"migrate", &api::EvacuationHooks::migrate},
     {"post", &api::EvacuationHooks::post},
     {"undo", &api::EvacuationHooks::undo}}};

/// Key of status.refs.
inline constexpr std::string_view kHooksRef = "hooks";

/// Returns "pre=job 600 2 Abort, undo=webhook 60 1 Abort backup": kind, timeout in seconds, retries, failure policy,
/// service. Returns "none" without hooks. The text always fits into a ref and never contains a Job's template.
std::string remembered_hooks(const api::EvacuationHooks& hooks);

/// Parses the result of remembered_hooks(). A recalled Job has no template, so it cannot be created. Returns nullopt if
/// `text` is invalid.
std::optional<api::EvacuationHooks> parse_hooks_summary(std::string_view text);

}  // namespace evictors::handoff
