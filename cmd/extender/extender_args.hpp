#pragma once

/// The wire of kube-scheduler's extenders (k8s.io/kube-scheduler/extender/v1). Pure; whatever a request holds was
/// written by somebody who reaches the port.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/core/kinds.hpp"
#include "api/json/json.hpp"
#include "base/result.hpp"

namespace extending {

/// No cluster has more; whoever names more is refused.
inline constexpr std::size_t kMaxNodes = 20'000;
/// What kube-scheduler takes as the best score (MaxExtenderPriority).
inline constexpr std::int32_t kBestScore = 10;

/// One question: this pod, on one of these nodes?
struct ExtenderArgs {
  api::Pod pod;
  std::vector<std::string> nodes;  ///< the candidates, in the scheduler's order, each once
  bool has_objects = false;        ///< they were sent as Node objects (nodeCacheCapable: false):
  api::Json objects;               ///< those, in the same order
};

/// Names in Go's spelling or in lower case, as older schedulers wrote them. kInvalid says what is wrong: no JSON, no
/// pod, neither nodes nor names, a node without a name or twice, more than kMaxNodes.
base::Result<ExtenderArgs> parse_args(std::string_view body);

/// ExtenderFilterResult. `reasons` runs parallel to the nodes: why it fails; empty: it passes. The nodes go back as
/// they came: as names, or as objects. `is_final`: preemption on the nodes that fail would not help, which schedulers
/// before 1.21 do not read. REQUIRES: reasons.size() == args.nodes.size().
std::string filter_answer(const ExtenderArgs& args, const std::vector<std::string>& reasons, bool is_final = false);

/// HostPriorityList. REQUIRES: scores.size() == nodes.size().
std::string priorities_answer(const std::vector<std::string>& nodes, const std::vector<std::int32_t>& scores);

}  // namespace extending
