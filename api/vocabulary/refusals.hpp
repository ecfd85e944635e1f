#pragma once

/// Reasons why a plan leaves a pod where it is and why a node does not accept a pod, with their text in
/// docs/troubleshooting.md. planner/ implements the rules; a test checks that both agree.

#include <span>
#include <string_view>

namespace api {

struct RefusalTerm {
  std::string_view name;      ///< CamelCase
  std::string_view meaning;   ///< whole sentences, Markdown
  std::string_view remedy{};  ///< empty if no action is needed
};

/// Reasons of pods, in status.refusals, `simulate` and `explain`.
std::span<const RefusalTerm> pod_refusals();
/// Reasons of nodes, in messages about pods and in the report of nodes that Defragmentation does not free.
std::span<const RefusalTerm> node_refusals();

}  // namespace api
