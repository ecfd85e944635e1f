#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/vocabulary/term.hpp"

namespace api {

/// What blocks an Evacuation: status.blockedBy[].kind.
enum class BlockerKind {
  kPodDisruptionBudget,
  kLimit,
  kCapacity,
  kPodGroup,
  kSuspended,
  kAuditLog,
  kWebhook,
  kService,
  kThrottled,
  kNamespace,
};
inline constexpr BlockerKind kLastBlockerKind = BlockerKind::kNamespace;

std::string_view to_string(BlockerKind kind);
std::optional<BlockerKind> parse_blocker_kind(std::string_view name);
std::span<const Term<BlockerKind>> blocker_kinds();
/// Returns the text of the column BLOCKED-BY: "pdb", "limit"…; an unknown kind in lower case.
std::string column_text(std::string_view kind);

inline bool operator==(std::string_view text, BlockerKind kind) { return text == to_string(kind); }

/// What a limit counts. With BlockerKind::kLimit, status.blockedBy[].name contains it.
enum class LimitScope { kTotal, kNode, kTargetNode, kNamespace, kWorkload, kZone, kRate, kCooldown };
inline constexpr LimitScope kLastLimitScope = LimitScope::kCooldown;

/// "targetNode".
std::string_view to_string(LimitScope scope);
std::optional<LimitScope> parse_limit_scope(std::string_view name);
std::span<const Term<LimitScope>> limit_scopes();

/// Returns status.blockedBy[].name of a limit: "node" for the operator's limit, "policy web node" for a policy's.
std::string limit_name(LimitScope scope, std::string_view policy = {});
/// Returns the scope in a limit_name(), or nullopt if it is malformed.
std::optional<LimitScope> scope_of_limit(std::string_view limit_name);

}  // namespace api
