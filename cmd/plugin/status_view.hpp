#pragma once

/// Text and JSON output of `status`. Pure.

#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/json/json.hpp"
#include "cmd/drain/drain.hpp"
#include "cmd/drain/progress.hpp"

namespace cmd::plugin {

/// Returns the columns MODE, READY, ACTIVE, EVICTED, NOMINATED, LAST CYCLE, NEXT for each policy.
std::string policy_table(const std::vector<api::DeschedulerPolicy>& policies, base::TimePoint now, bool colour);
/// Returns the conditions, last cycle, refusals and plan of one policy.
std::string policy_text(const api::DeschedulerPolicy& policy, base::TimePoint now, bool colour);
api::Json policy_json(const api::DeschedulerPolicy& policy);

/// A node with its drain plan and Evacuations.
struct NodeView {
  api::Node node;
  DrainPlan plan;                            ///< plan with every flag set, that is, all pods that can be evacuated
  std::vector<api::Evacuation> evacuations;  ///< Evacuations from this node, newest per pod
};
std::string node_text(const NodeView& view, base::TimePoint now, bool colour);
api::Json node_json(const NodeView& view);

api::Json progress_json(const Progress& progress);

}  // namespace cmd::plugin
