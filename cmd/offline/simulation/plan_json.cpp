#include <nlohmann/json.hpp>
#include <utility>

#include "cmd/offline/simulation/plan_view.hpp"

namespace cmd {
namespace {

using planner::NodeUtilization;

api::Json amount_json(const NodeUtilization::Amount& amount, bool binary) {
  return {{"allocatable", amount.allocatable.to_string(binary)},
          {"before", amount.before.to_string(binary)},
          {"after", amount.after.to_string(binary)}};
}

api::Json imbalance_json(const api::Imbalance& imbalance) {
  return {{"deviation", imbalance.deviation}, {"peakToMean", imbalance.peak_to_mean}};
}

api::Json emptying_json(const strategies::EmptyingReport& report) {
  api::Json held = api::Json::array();
  for (const auto& each : report.held) {
    held.push_back({{"node", each.node}, {"reason", each.reason}, {"message", each.message}});
    if (each.pod.empty()) continue;
    held.back()["namespace"] = each.ns;
    held.back()["pod"] = each.pod;
  }
  return {{"busy", report.busy},   {"freed", report.freed},
          {"bound", report.bound}, {"boundReason", report.bound_reason},
          {"note", report.note},   {"held", std::move(held)}};
}

api::Json move_json(const api::PlannedMove& move) {
  api::Json json = {{"namespace", move.ns}, {"pod", move.pod},           {"uid", move.uid},      {"from", move.from},
                    {"to", move.to},        {"strategy", move.strategy}, {"reason", move.reason}};
  if (move.wave > 0) json["wave"] = move.wave;
  if (move.score) json["score"] = *move.score;
  return json;
}

api::Json strategy_json(const planner::StrategyResult& result) {
  api::Json json = {{"strategy", result.strategy},
                    {"nominated", result.nominated},
                    {"refused", result.refused},
                    {"problem", result.problem}};
  if (result.classes) json["nodeClasses"] = api::encode_node_classes(*result.classes, result.classes->nodes.size());
  if (result.emptying) json["emptying"] = emptying_json(*result.emptying);
  return json;
}

api::Json balance_json(const api::BalanceRow& row) {
  return {{"strategy", row.strategy},
          {"resource", row.resource},
          {"before", imbalance_json(row.before)},
          {"after", imbalance_json(row.after)}};
}

api::Json utilization_json(const NodeUtilization& node) {
  return {{"node", node.node},
          {"cpu", amount_json(node.cpu, false)},
          {"memory", amount_json(node.memory, true)},
          {"pods", amount_json(node.pods, false)}};
}

api::Json count_json(const api::ReasonCount& refused) { return {{"reason", refused.reason}, {"count", refused.count}}; }

template <typename Rows, typename Encode>
api::Json list_of(const Rows& rows, Encode encode) {
  api::Json list = api::Json::array();
  for (const auto& row : rows) list.push_back(encode(row));
  return list;
}

}  // namespace

api::Json plan_json(const api::DeschedulerPolicy& policy, const planner::Plan& plan, base::TimePoint now) {
  api::Json report = {
      {"policy", policy.meta.name}, {"now", base::format_time(now)}, {"nodes", plan.nodes}, {"pods", plan.pods}};
  report["moves"] = list_of(plan.moves, move_json);
  report["refusals"] = list_of(plan.refusals, api::encode_refused_pod);
  report["refused"] = list_of(plan.refused, count_json);
  report["strategies"] = list_of(plan.strategies, strategy_json);
  report["balance"] = list_of(plan.balance, balance_json);
  report["utilization"] = list_of(plan.utilization, utilization_json);
  report["warnings"] = api::Json::array();
  for (const api::FieldErrors& list : {plan.errors, plan.warnings, plan.notes}) {
    for (const api::FieldError& error : list) report["warnings"].push_back(error.to_string());
  }
  return report;
}

api::Json problems_json(const scheduling::InputProblems& problems) {
  api::Json rows = api::Json::array();
  for (const scheduling::InputProblem& problem : problems.rows())
    rows.push_back({{"object", problem.object}, {"field", problem.field}, {"message", problem.message}});
  return {{"total", problems.total()}, {"first", std::move(rows)}};
}

}  // namespace cmd
