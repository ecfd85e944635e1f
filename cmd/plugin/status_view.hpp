#pragma once

/// What `status` shows, as texts and JSON. Pure.

#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/json/json.hpp"
#include "cmd/drain/drain.hpp"
#include "cmd/drain/progress.hpp"

namespace cmd::plugin {

/// MODE, READY, ACTIVE, EVICTED, NOMINATED, LAST CYCLE, NEXT of each policy.
std::string policy_table(const std::vector<api::DeschedulerPolicy>& policies, base::TimePoint now, bool colour);
/// Conditions, last cycle, refusals and plan of one.
std::string policy_text(const api::DeschedulerPolicy& policy, base::TimePoint now, bool colour);
api::Json policy_json(const api::DeschedulerPolicy& policy);

/// A node and what is to leave it.
struct NodeView {
  api::Node node;
  DrainPlan plan;                            ///< with every flag given: what could be moved at all
  std::vector<api::Evacuation> evacuations;  ///< from this node, newest per pod
};
/// Pods of the plan that have no unfinished Evacuation.
std::vector<DrainMove> unasked(const NodeView& view);
std::string node_text(const NodeView& view, base::TimePoint now, bool colour);
api::Json node_json(const NodeView& view);

api::Json progress_json(const Progress& progress);

}  // namespace cmd::plugin
