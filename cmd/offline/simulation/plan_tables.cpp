#include "cmd/offline/simulation/plan_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "cmd/output.hpp"
#include "cmd/table.hpp"
#include "planner/report/plain_text.hpp"
#include "planner/report/summary.hpp"

namespace cmd {
namespace {

using planner::NodeUtilization;

double share(api::Quantity used, api::Quantity all) {
  return all.milli() > 0 ? static_cast<double>(used.milli()) / static_cast<double>(all.milli()) : 0;
}

std::string percent_change(const NodeUtilization::Amount& amount) {
  const auto percent = [&](api::Quantity used) {
    return fmt::format("{:.0f}%", share(used, amount.allocatable) * 100);
  };
  const std::string before = percent(amount.before);
  const std::string after = percent(amount.after);
  return before == after && amount.before == amount.after ? before : before + " → " + after;
}

/// Formats pod counts: "13 of 110", "13 → 15 of 110".
std::string pods_of(const NodeUtilization::Amount& pods) {
  const std::string before = pods.before == pods.after ? "" : fmt::format("{} → ", pods.before.units());
  return fmt::format("{}{} of {}", before, pods.after.units(), pods.allocatable.units());
}

/// Escapes control characters: names and messages come from the cluster's tenants.
std::vector<std::string> plain_row(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = report::plain_text(cell);
  return cells;
}

std::string destination_of(const api::PlannedMove& move, const std::set<std::string>& ended) {
  if (!move.to.empty()) return move.to;
  return ended.contains(move.uid) ? "no replacement" : "no node fits";
}

/// Renders the moves. `wide` adds the score of moves that have one.
std::string moves_table(const planner::Plan& plan, const std::set<std::string>& ended, bool wide) {
  const bool has_scores =
      wide && std::ranges::any_of(plan.moves, [](const api::PlannedMove& move) { return move.score.has_value(); });
  const bool has_waves = std::ranges::any_of(plan.moves, [](const api::PlannedMove& move) { return move.wave > 0; });
  std::vector<std::string> header = {"NAMESPACE", "POD", "FROM", "TO", "STRATEGY", "REASON"};
  if (has_waves) header.insert(header.begin(), "WAVE");
  if (has_scores) header.insert(header.end() - 1, "SCORE");
  Table table(header);
  for (const api::PlannedMove& move : plan.moves) {
    std::vector<std::string> row = {move.ns,       move.pod,   move.from, destination_of(move, ended),
                                    move.strategy, move.reason};
    if (has_waves) row.insert(row.begin(), move.wave > 0 ? std::to_string(move.wave) : "");
    if (has_scores) row.insert(row.end() - 1, move.score ? fmt::format("{:.1f}", *move.score) : "");
    table.add_row(plain_row(row));
  }
  return table.render();
}

void print_emptying(const planner::StrategyResult& result) {
  if (!result.emptying) return;
  const strategies::EmptyingReport& report = *result.emptying;
  print_out("\nNODES FREED by {}: {} of {} with pods; the upper bound is {}, because of {}\n", result.strategy,
            report.freed, report.busy, report.bound,
            report.bound_reason.empty() ? "nothing" : report::plain_text(report.bound_reason));
  if (!report.note.empty()) print_out("Note: {}\n", report::plain_text(report.note));
  if (report.held.empty()) return;
  Table table({"NODE", "HELD BY", "REASON", "MESSAGE"});
  for (const auto& held : report.held)
    table.add_row(plain_row({held.node, held.pod.empty() ? "" : held.ns + "/" + held.pod, held.reason, held.message}));
  write_out(table.render());
  const std::int32_t left_out = report.busy - report.freed - static_cast<std::int32_t>(report.held.size());
  if (left_out > 0) print_out("(and {} more)\n", left_out);
}

/// Prints how a utilization strategy classified the nodes: the counts and, if it moves nothing, the reason for each
/// node.
void print_classes(const planner::StrategyResult& result) {
  constexpr std::size_t kRows = 50;
  if (!result.classes) return;
  const api::NodeClasses& classes = *result.classes;
  print_out("\nNODES as classified by {}: {}\n", result.strategy, classes.summary());
  if (!classes.note.empty()) print_out("Note: {}\n", report::plain_text(classes.note));
  if (result.nominated > 0) return;
  Table table({"NODE", "CLASS", "CORDONED", "DECIDED BY"});
  const std::size_t shown = std::min(classes.nodes.size(), kRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const api::ClassifiedNode& node = classes.nodes[i];
    table.add_row(
        plain_row({node.node, std::string(api::to_string(node.node_class)), node.cordoned ? "yes" : "", node.reason}));
  }
  write_out(table.render());
  const auto left_out = static_cast<std::size_t>(classes.total()) - shown;
  if (left_out > 0) print_out("(and {} more)\n", left_out);
}

std::string balance_table(const planner::Plan& plan) {
  Table table({"STRATEGY", "RESOURCE", "DEVIATION", "PEAK TO MEAN"});
  for (const api::BalanceRow& row : plan.balance) {
    table.add_row(plain_row({row.strategy, row.resource,
                             fmt::format("{:.1f} → {:.1f} points", row.before.deviation, row.after.deviation),
                             fmt::format("{:.2f} → {:.2f}", row.before.peak_to_mean, row.after.peak_to_mean)}));
  }
  return table.render();
}

std::string refusals_table(const planner::Plan& plan) {
  Table table({"NAMESPACE", "POD", "NODE", "STRATEGY", "REASON", "MESSAGE"});
  for (const api::RefusedPod& refusal : plan.refusals) {
    table.add_row(
        plain_row({refusal.ns, refusal.pod, refusal.node, refusal.strategy, refusal.reason, refusal.message}));
  }
  return table.render();
}

std::string utilization_table(const planner::Plan& plan) {
  constexpr std::size_t kRows = 50;
  Table table({"NODE", "CPU", "", "MEMORY", "PODS"});
  std::size_t left_out = 0;
  for (const NodeUtilization& node : plan.utilization) {
    // show all nodes of a small cluster, but only changed nodes of a large one
    const bool changed = node.cpu.before != node.cpu.after || node.memory.before != node.memory.after ||
                         node.pods.before != node.pods.after;
    if (plan.utilization.size() > kRows && !changed) {
      ++left_out;
      continue;
    }
    table.add_row({report::plain_text(node.node), percent_change(node.cpu),
                   bar(share(node.cpu.after, node.cpu.allocatable), 20), percent_change(node.memory),
                   pods_of(node.pods)});
  }
  std::string text = table.render();
  if (left_out > 0) text += fmt::format("({} unchanged nodes are hidden)\n", left_out);
  return text;
}

void print_counts(const planner::Plan& plan) {
  if (plan.refused.empty()) return;
  std::int64_t total = 0;
  for (const api::ReasonCount& refused : plan.refused) total += refused.count;
  print_out("\nREFUSED {}", total);
  const char* separator = ": ";
  for (const api::ReasonCount& refused : plan.refused) {
    print_out("{}{} {}", separator, refused.count, refused.reason);
    separator = ", ";
  }
  print_out("\n{}", refusals_table(plan));
  if (static_cast<std::int64_t>(plan.refusals.size()) < total) {
    print_out("(the first {}; -o json has the same rows, the counts are complete)\n", plan.refusals.size());
  }
}

void print_warning(const std::string& text) { print_out("Warning: {}\n", report::plain_text(text)); }

void print_problems(const scheduling::InputProblems& problems) {
  constexpr std::size_t kRows = 10;
  const auto& rows = problems.rows();
  const std::size_t shown = std::min(rows.size(), kRows);
  for (std::size_t i = 0; i < shown; ++i) print_warning(rows[i].to_string());
  const auto left_out = problems.total() - static_cast<std::int64_t>(shown);
  if (left_out > 0) print_out("Warning: and {} more; -o json has the first {}\n", left_out, rows.size());
}

/// Returns a line about skipped parts of the dump, empty if there are none.
std::string skipped_line(const Dump& dump) {
  constexpr std::size_t kMax = 8;
  if (dump.skipped.empty() && dump.skipped_files == 0) return {};
  std::string text;
  std::size_t shown = 0;
  for (const auto& [kind, count] : dump.skipped) {
    if (++shown <= kMax) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, report::plain_text(kind));
  }
  if (shown > kMax)
    text += fmt::format(" and {} more", report::plural(static_cast<std::int64_t>(shown - kMax), "kind"));
  if (dump.skipped_files > 0)
    text += fmt::format("{}{} without Kubernetes objects", text.empty() ? "" : ", ",
                        report::plural(dump.skipped_files, "file"));
  return fmt::format("(ignored, not needed for planning: {})\n", text);
}

}  // namespace

void print_tables(const api::DeschedulerPolicy& policy, const Dump& dump, const planner::Plan& plan,
                  const scheduling::InputProblems& problems, const PlanRemarks& remarks, base::TimePoint now) {
  print_out("Policy {} at {}: {}, {} in scope, {} to move. Nothing was changed.\n",
            report::plain_text(policy.meta.name), base::format_time(now), report::plural(plan.nodes, "node"),
            report::plural(plan.pods, "pod"), plan.moves.size());
  print_out("(the current time is {})\n", report::plain_text(remarks.now_source));
  write_out(skipped_line(dump));
  if (!remarks.caveats.empty()) print_warning(remarks.caveats);
  for (const api::FieldErrors& list : {plan.errors, plan.warnings, plan.notes}) {
    for (const api::FieldError& error : list) print_warning(error.to_string());
  }
  for (const planner::StrategyResult& result : plan.strategies) {
    if (!result.problem.empty()) print_warning(result.strategy + ": " + result.problem);
  }
  print_problems(problems);
  write_out(remarks.picture);
  if (!plan.moves.empty()) print_out("\nMOVES\n{}", moves_table(plan, remarks.ended_pods, remarks.is_wide));
  if (!plan.balance.empty()) print_out("\nBALANCE, before → after\n{}", balance_table(plan));
  for (const planner::StrategyResult& result : plan.strategies) {
    print_emptying(result);
    print_classes(result);
  }
  print_counts(plan);
  print_out("\nUTILIZATION by requests, before → after\n{}", utilization_table(plan));
}

}  // namespace cmd
