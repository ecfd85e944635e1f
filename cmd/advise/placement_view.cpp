#include "cmd/advise/placement_view.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cmd/advise/risk_rows.hpp"
#include "cmd/table.hpp"
#include "planner/report/plain_text.hpp"

namespace cmd::advise {
namespace {

using advisor::Finding;
using advisor::Outcome;
using advisor::PlacementReport;

/// Maximum number of rows in the table of effects. The JSON output contains all findings.
constexpr std::size_t kRows = 30;

std::string effect_of(const Finding& finding, const Outcome& now) {
  if (!finding.then) return "not evaluated";
  const std::int32_t nodes = gained_nodes(finding, now);
  if (nodes > 0)
    return fmt::format("{} {} more, {} in total", nodes, nodes == 1 ? "node" : "nodes", finding.then->freed);
  const std::int32_t moves = saved_moves(finding, now);
  return moves > 0 ? fmt::format("no more nodes, with {} fewer {}", moves, moves == 1 ? "move" : "moves") : "none";
}

std::string head_of(const PlacementReport& report) {
  const Outcome& now = report.now;
  std::string text = fmt::format("{} nodes, {} of them with pods. Without changes, a plan frees {} with {} moves; ",
                                 report.nodes, report.busy, now.freed, now.moves);
  const std::string reason = now.bound_reason.empty() ? "" : ", because of " + report::plain_text(now.bound_reason);
  return text + fmt::format("the upper bound is {}{}. Nothing was changed.\n", now.bound, reason);
}

std::string effects_table(const PlacementReport& report) {
  Table table({"CAUSE", "WHAT", "PODS", "NODES", "FREES", "RISK", "WHY", "CHANGE"});
  std::size_t left_out = 0;
  std::size_t shown = 0;
  for (const Finding& each : report.findings) {
    if (!has_effect(each.cause)) continue;
    if (shown == kRows) {
      ++left_out;
      continue;
    }
    ++shown;
    table.add_row({std::string(to_string(each.cause)), subject_of(each), std::to_string(each.pods),
                   each.nodes > 0 ? std::to_string(each.nodes) : "", effect_of(each, report.now),
                   std::string(to_string(each.risk)), report::plain_text(each.why), each.change});
  }
  if (shown == 0) return "\nNo constraint keeps nodes from being freed.\n";
  std::string text = "\nCONSTRAINTS THAT KEEP NODES\n" + table.render();
  if (left_out > 0) text += fmt::format("(and {} more; -o json lists all)\n", left_out);
  if (report.unplanned > 0) text += fmt::format("({} were not evaluated: increase --plans)\n", report.unplanned);
  return text;
}

std::string risks_table(const PlacementReport& report) {
  const std::vector<RiskRow> rows = risk_rows(report.findings);
  if (rows.empty()) return {};
  Table table({"CAUSE", "WHAT", "PODS", "WHY", "CHANGE"});
  bool is_summed = false;
  for (const RiskRow& row : rows) {
    table.add_row({row.cause, row.what, std::to_string(row.pods), row.why, row.change});
    is_summed |= row.findings > 1;
  }
  return "\nRISKS\n" + table.render() + (is_summed ? "(-o json lists each workload)\n" : "");
}

std::string alerts_text(const PlacementReport& report) {
  if (report.alerts.empty()) return {};
  std::string text = "\nALERTS\n";
  for (const advisor::Alert& each : report.alerts)
    text += fmt::format("{} at {:.0f} %: {}\n  {}\n", each.name, each.percent, each.meaning, each.expression);
  return text;
}

api::Json outcome_json(const Outcome& outcome) {
  return {{"freed", outcome.freed},
          {"moves", outcome.moves},
          {"bound", outcome.bound},
          {"boundReason", outcome.bound_reason}};
}

api::Json finding_json(const Finding& finding, const Outcome& now) {
  api::Json json = {{"cause", to_string(finding.cause)},
                    {"namespace", finding.ns},
                    {"kind", finding.kind},
                    {"name", finding.name},
                    {"pods", finding.pods},
                    {"nodes", finding.nodes},
                    {"risk", to_string(finding.risk)},
                    {"grade", finding.grade == advisor::Grade::kDropped ? "Dropped" : "Preferred"},
                    {"why", finding.why},
                    {"change", finding.change}};
  if (!finding.then) return json;
  json["then"] = outcome_json(*finding.then);
  json["gainedNodes"] = gained_nodes(finding, now);
  json["savedMoves"] = saved_moves(finding, now);
  return json;
}

}  // namespace

std::string placement_text(const PlacementReport& report) {
  return head_of(report) + effects_table(report) + risks_table(report) + alerts_text(report);
}

api::Json placement_json(const PlacementReport& report) {
  api::Json json = {{"nodes", report.nodes},           {"busy", report.busy},
                    {"now", outcome_json(report.now)}, {"findings", api::Json::array()},
                    {"unplanned", report.unplanned},   {"alerts", api::Json::array()}};
  for (const Finding& each : report.findings) json["findings"].push_back(finding_json(each, report.now));
  for (const advisor::Alert& each : report.alerts)
    json["alerts"].push_back(
        {{"name", each.name}, {"percent", each.percent}, {"meaning", each.meaning}, {"expression", each.expression}});
  return json;
}

}  // namespace cmd::advise
