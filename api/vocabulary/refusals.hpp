#pragma once

/// Why a plan leaves a pod where it is, and why a node does not take a pod: what docs/troubleshooting.md says of each
/// reason. The rules themselves are in planner/; a test holds the two together.

#include <span>
#include <string_view>

namespace api {

struct RefusalTerm {
  std::string_view name;     ///< CamelCase
  std::string_view meaning;  ///< whole sentences, Markdown
  std::string_view remedy;   ///< empty: there is nothing to do
};

/// Reasons of pods, in status.refusals, `simulate` and `explain`.
std::span<const RefusalTerm> pod_refusals();
/// Reasons of nodes, in the messages about pods, and in the report of nodes that Defragmentation does not free.
std::span<const RefusalTerm> node_refusals();

}  // namespace api
