#pragma once

/// What an attempt remembers of its policy's hooks, should the policy go before the attempt has ended (ADR 0010). Pure;
/// part of hooks.hpp.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/hooks.hpp"

namespace evictors::handoff {

using HookMember = std::optional<api::Hook> api::EvacuationHooks::*;
/// The hooks with their names, in the order of HookPoint.
inline constexpr std::array<std::pair<std::string_view, HookMember>, 4> kHookMembers = {
    {{"pre", &api::EvacuationHooks::pre},
     {"migrate", &api::EvacuationHooks::migrate},
     {"post", &api::EvacuationHooks::post},
     {"undo", &api::EvacuationHooks::undo}}};

/// Key of status.refs.
inline constexpr std::string_view kHooksRef = "hooks";

/// "pre=job 600 2 Abort, undo=webhook 60 1 Abort backup": kind, timeout in seconds, retries, failure policy, service.
/// "none" without hooks. Always fits into a ref; never holds a Job's template.
std::string remembered_hooks(const api::EvacuationHooks& hooks);

/// The way back; a Job comes without template, so none can be made of it. nullopt: `text` is none of ours.
std::optional<api::EvacuationHooks> recalled_hooks(std::string_view text);

}  // namespace evictors::handoff
