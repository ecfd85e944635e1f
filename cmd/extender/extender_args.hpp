#pragma once

/// Wire format of kube-scheduler's extenders (k8s.io/kube-scheduler/extender/v1). Pure. Requests are untrusted: any
/// client that reaches the port can send them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/core/kinds.hpp"
#include "api/json/json.hpp"
#include "base/result.hpp"

namespace extender {

/// Maximum number of nodes in a request. Larger requests are rejected; no cluster has more nodes.
inline constexpr std::size_t kMaxNodes = 20'000;
/// kube-scheduler's highest score (MaxExtenderPriority).
inline constexpr std::int32_t kBestScore = 10;

/// A request: the pod and its candidate nodes.
struct ExtenderArgs {
  api::Pod pod;
  std::vector<std::string> nodes;  ///< candidates in the scheduler's order, without duplicates
  bool has_objects = false;        ///< the request contained Node objects (nodeCacheCapable: false)
  api::Json objects;               ///< Node objects in the order of `nodes`
};

/// Parses a request. Accepts field names in Go's spelling and in lower case, which older schedulers send. Returns
/// kInvalid with the reason for invalid JSON, a missing pod, neither nodes nor names, a node without a name or listed
/// twice, or more than kMaxNodes.
base::Result<ExtenderArgs> parse_args(std::string_view body);

/// Encodes an ExtenderFilterResult. `reasons` is parallel to the nodes; empty means that the node passes. Nodes are
/// returned in the form of the request: names or objects. `is_final` means that preemption on the failed nodes would
/// not help; schedulers before 1.21 ignore it. REQUIRES: reasons.size() == args.nodes.size().
std::string filter_answer(const ExtenderArgs& args, const std::vector<std::string>& reasons, bool is_final = false);

/// Encodes a HostPriorityList. REQUIRES: scores.size() == nodes.size().
std::string priorities_answer(const std::vector<std::string>& nodes, const std::vector<std::int32_t>& scores);

}  // namespace extender
