#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "api/descheduler_policy.hpp"
#include "api/json/yaml.hpp"
#include "api/meta/label_value.hpp"
#include "base/side_by_side.hpp"
#include "cmd/commands.hpp"
#include "cmd/offline/block_style.hpp"
#include "cmd/offline/dump.hpp"
#include "cmd/offline/measured.hpp"
#include "cmd/offline/policy_files.hpp"
#include "cmd/offline/report_files.hpp"
#include "cmd/output.hpp"
#include "cmd/table.hpp"
#include "planning/evacuating_pods.hpp"
#include "planning/planner.hpp"
#include "reporting/picture/blocks.hpp"
#include "reporting/plain_text.hpp"
#include "reporting/summary.hpp"
#include "scheduling/scoring/scheduler_rules.hpp"

namespace cmd {
namespace {

using planning::NodeUtilization;

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

/// Names and messages come from the cluster's tenants: they must not steer the terminal.
std::vector<std::string> plain_row(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = reporting::plain_text(cell);
  return cells;
}

/// Benefit for disruption; "": the strategy does not balance.
std::string score_text(const api::PlannedMove& move) { return move.score ? fmt::format("{:.1f}", *move.score) : ""; }

/// `wide`: with the score of each move, where moves have one.
std::string moves_table(const planning::Plan& plan, bool wide) {
  const bool has_scores =
      wide && std::ranges::any_of(plan.moves, [](const api::PlannedMove& move) { return move.score.has_value(); });
  const bool has_waves = std::ranges::any_of(plan.moves, [](const api::PlannedMove& move) { return move.wave > 0; });
  std::vector<std::string> header = {"NAMESPACE", "POD", "FROM", "TO", "STRATEGY", "REASON"};
  if (has_waves) header.insert(header.begin(), "WAVE");
  if (has_scores) header.insert(header.end() - 1, "SCORE");
  Table table(header);
  for (const api::PlannedMove& move : plan.moves) {
    std::vector<std::string> row = {move.ns,       move.pod,   move.from, move.to.empty() ? "nowhere fits" : move.to,
                                    move.strategy, move.reason};
    if (has_waves) row.insert(row.begin(), move.wave > 0 ? std::to_string(move.wave) : "");
    if (has_scores) row.insert(row.end() - 1, score_text(move));
    table.add_row(plain_row(row));
  }
  return table.render();
}

void print_emptying(const planning::StrategyResult& result) {
  if (!result.emptying) return;
  const strategies::EmptyingReport& report = *result.emptying;
  print_out("\nNODES FREED by {}: {} of {} with pods; {} is the most that could be, because of {}\n", result.strategy,
            report.freed, report.busy, report.bound,
            report.bound_reason.empty() ? "nothing" : reporting::plain_text(report.bound_reason));
  if (!report.note.empty()) print_out("Note: {}\n", reporting::plain_text(report.note));
  if (report.held.empty()) return;
  Table table({"NODE", "HELD BY", "REASON", "MESSAGE"});
  for (const auto& held : report.held)
    table.add_row(plain_row({held.node, held.pod.empty() ? "" : held.ns + "/" + held.pod, held.reason, held.message}));
  write_out(table.render());
  const std::int32_t left_out = report.busy - report.freed - static_cast<std::int32_t>(report.held.size());
  if (left_out > 0) print_out("(and {} more)\n", left_out);
}

std::string balance_table(const planning::Plan& plan) {
  Table table({"STRATEGY", "RESOURCE", "DEVIATION", "PEAK TO MEAN"});
  for (const api::BalanceRow& row : plan.balance) {
    table.add_row(plain_row({row.strategy, row.resource,
                             fmt::format("{:.1f} → {:.1f} points", row.before.deviation, row.after.deviation),
                             fmt::format("{:.2f} → {:.2f}", row.before.peak_to_mean, row.after.peak_to_mean)}));
  }
  return table.render();
}

std::string refusals_table(const planning::Plan& plan) {
  Table table({"NAMESPACE", "POD", "NODE", "STRATEGY", "REASON", "MESSAGE"});
  for (const api::RefusedPod& refusal : plan.refusals) {
    table.add_row(
        plain_row({refusal.ns, refusal.pod, refusal.node, refusal.strategy, refusal.reason, refusal.message}));
  }
  return table.render();
}

std::string utilization_table(const planning::Plan& plan) {
  constexpr std::size_t kRows = 50;
  Table table({"NODE", "CPU", "", "MEMORY", "PODS"});
  std::size_t left_out = 0;
  for (const NodeUtilization& node : plan.utilization) {
    // Small clusters are shown whole; of large ones only what changes.
    const bool changed = node.cpu.before != node.cpu.after || node.memory.before != node.memory.after ||
                         node.pods.before != node.pods.after;
    if (plan.utilization.size() > kRows && !changed) {
      ++left_out;
      continue;
    }
    table.add_row({reporting::plain_text(node.node), percent_change(node.cpu),
                   bar(share(node.cpu.after, node.cpu.allocatable), 20), percent_change(node.memory),
                   fmt::format("{} → {}", node.pods.before.units(), node.pods.after.units())});
  }
  std::string text = table.render();
  if (left_out > 0) text += fmt::format("({} unchanged nodes are not shown)\n", left_out);
  return text;
}

void print_counts(const planning::Plan& plan) {
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

void print_warning(const std::string& text) { print_out("Warning: {}\n", reporting::plain_text(text)); }

void print_problems(const scheduling::InputProblems& problems) {
  constexpr std::size_t kRows = 10;
  const auto& rows = problems.rows();
  const std::size_t shown = std::min(rows.size(), kRows);
  for (std::size_t i = 0; i < shown; ++i) print_warning(rows[i].to_string());
  const auto left_out = problems.total() - static_cast<std::int64_t>(shown);
  if (left_out > 0) print_out("Warning: and {} more; -o json has the first {}\n", left_out, rows.size());
}

/// What of the dump was passed over; "" when nothing was.
std::string skipped_line(const Dump& dump) {
  constexpr std::size_t kMost = 8;
  if (dump.skipped.empty() && dump.skipped_files == 0) return {};
  std::string text;
  std::size_t shown = 0;
  for (const auto& [kind, count] : dump.skipped) {
    if (++shown <= kMost) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, reporting::plain_text(kind));
  }
  if (shown > kMost)
    text += fmt::format(" and {} more", reporting::plural(static_cast<std::int64_t>(shown - kMost), "kind"));
  if (dump.skipped_files > 0)
    text += fmt::format("{}{} without Kubernetes objects that are read", text.empty() ? "" : ", ",
                        reporting::plural(dump.skipped_files, "file"));
  return fmt::format("(passed over, not needed for planning: {})\n", text);
}

void print_tables(const api::DeschedulerPolicy& policy, const Dump& dump, const planning::Plan& plan,
                  const scheduling::InputProblems& problems, const std::string& caveats, const std::string& picture,
                  bool wide, base::TimePoint now) {
  print_out("Policy {} at {}: {}, {} looked at, {} to move. Nothing was touched.\n",
            reporting::plain_text(policy.meta.name), base::format_time(now), reporting::plural(plan.nodes, "node"),
            reporting::plural(plan.pods, "pod"), plan.moves.size());
  write_out(skipped_line(dump));
  if (!caveats.empty()) print_warning(caveats);
  for (const api::FieldErrors& list : {plan.errors, plan.warnings, plan.notes}) {
    for (const api::FieldError& error : list) print_warning(error.to_string());
  }
  for (const planning::StrategyResult& result : plan.strategies) {
    if (!result.problem.empty()) print_warning(result.strategy + ": " + result.problem);
  }
  print_problems(problems);
  write_out(picture);
  if (!plan.moves.empty()) print_out("\nMOVES\n{}", moves_table(plan, wide));
  if (!plan.balance.empty()) print_out("\nBALANCE, before → after\n{}", balance_table(plan));
  for (const planning::StrategyResult& result : plan.strategies) print_emptying(result);
  print_counts(plan);
  print_out("\nUTILIZATION by requests, before → after\n{}", utilization_table(plan));
}

api::Json amount_json(const NodeUtilization::Amount& amount, bool binary) {
  return {{"allocatable", amount.allocatable.to_string(binary)},
          {"before", amount.before.to_string(binary)},
          {"after", amount.after.to_string(binary)}};
}

api::Json imbalance_json(const api::Imbalance& imbalance) {
  return {{"deviation", imbalance.deviation}, {"peakToMean", imbalance.peak_to_mean}};
}

api::Json problems_json(const scheduling::InputProblems& problems) {
  api::Json rows = api::Json::array();
  for (const scheduling::InputProblem& problem : problems.rows())
    rows.push_back({{"object", problem.object}, {"field", problem.field}, {"message", problem.message}});
  return {{"total", problems.total()}, {"first", std::move(rows)}};
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

api::Json plan_json(const api::DeschedulerPolicy& policy, const planning::Plan& plan, base::TimePoint now) {
  api::Json report = {
      {"policy", policy.meta.name}, {"now", base::format_time(now)}, {"nodes", plan.nodes}, {"pods", plan.pods}};
  for (const char* list : {"moves", "refusals", "refused", "strategies", "balance", "utilization", "warnings"})
    report[list] = api::Json::array();
  for (const api::PlannedMove& move : plan.moves) {
    report["moves"].push_back({{"namespace", move.ns},
                               {"pod", move.pod},
                               {"uid", move.uid},
                               {"from", move.from},
                               {"to", move.to},
                               {"strategy", move.strategy},
                               {"reason", move.reason}});
    if (move.wave > 0) report["moves"].back()["wave"] = move.wave;
    if (move.score) report["moves"].back()["score"] = *move.score;
  }
  for (const api::RefusedPod& refusal : plan.refusals) {
    report["refusals"].push_back(api::encode_refused_pod(refusal));
  }
  for (const api::ReasonCount& refused : plan.refused) {
    report["refused"].push_back({{"reason", refused.reason}, {"count", refused.count}});
  }
  for (const planning::StrategyResult& result : plan.strategies) {
    report["strategies"].push_back({{"strategy", result.strategy},
                                    {"nominated", result.nominated},
                                    {"refused", result.refused},
                                    {"problem", result.problem}});
    if (result.emptying) report["strategies"].back()["emptying"] = emptying_json(*result.emptying);
  }
  for (const api::BalanceRow& row : plan.balance) {
    report["balance"].push_back({{"strategy", row.strategy},
                                 {"resource", row.resource},
                                 {"before", imbalance_json(row.before)},
                                 {"after", imbalance_json(row.after)}});
  }
  for (const NodeUtilization& node : plan.utilization) {
    report["utilization"].push_back({{"node", node.node},
                                     {"cpu", amount_json(node.cpu, false)},
                                     {"memory", amount_json(node.memory, true)},
                                     {"pods", amount_json(node.pods, false)}});
  }
  for (const api::FieldErrors& list : {plan.errors, plan.warnings, plan.notes}) {
    for (const api::FieldError& error : list) report["warnings"].push_back(error.to_string());
  }
  return report;
}

/// Strategies that go by figures without any to go by, or figures that nothing goes by.
std::string usage_warning(const SimulateOptions& options, const planning::PlanSpec& spec) {
  const bool is_needed = !spec.strategy_specs.usage_needs().empty();
  if (options.usage.empty() == !is_needed) return {};
  return is_needed ? "the policy goes by measured usage: give it with --usage FILE or --usage live"
                   : "--usage is given, but no strategy of the policy goes by measured usage";
}

std::string gain_by_hints(const strategies::EmptyingReport& without, const strategies::EmptyingReport& with,
                          std::size_t moves) {
  if (with.freed <= without.freed) return "placement hints would free no more nodes";
  return fmt::format("placement hints would free {} nodes, {} more, with {} moves: install the placement webhook",
                     with.freed, with.freed - without.freed, moves);
}

/// Where a strategy empties fewer nodes than its bound without placement hints, the policy is planned once more with
/// them, which may take as long again.
void note_gain_by_hints(planning::PlanInput input, planning::Plan& plan) {
  const auto is_short = [](const planning::StrategyResult& each) {
    return each.emptying && each.problem.empty() && each.emptying->freed < each.emptying->bound;
  };
  if (input.options.placement_hints || std::ranges::none_of(plan.strategies, is_short)) return;
  input.options.placement_hints = true;
  const planning::Plan hinted = planning::plan_cycle(input);
  for (std::size_t i = 0; i < plan.strategies.size() && i < hinted.strategies.size(); ++i) {
    const planning::StrategyResult& other = hinted.strategies[i];
    if (!is_short(plan.strategies[i]) || !other.emptying) continue;
    std::string& note = plan.strategies[i].emptying->note;
    note += (note.empty() ? "" : "; ") +
            gain_by_hints(*plan.strategies[i].emptying, *other.emptying, static_cast<std::size_t>(other.nominated));
  }
}

base::Status simulate(const SimulateOptions& options) {
  if (const auto checked = check_report_paths(options.reports); !checked) return checked.error();
  if (options.policy == "-" && options.snapshot == "-")
    return base::invalid("standard input can be the dump or the policy, not both");
  const auto policies = load_policies(options.policy);
  if (!policies) return policies.error();
  const auto policy = choose_policy(*policies, options.policy_name, options.policy);
  if (!policy) return policy.error();
  auto dump = load_dump(options.snapshot);
  if (!dump) return dump.error();
  if (dump->objects.nodes.empty())
    return base::invalid(options.snapshot + ": holds no Node; dump nodes and pods together");
  if (dump->objects.pods.empty())
    return base::invalid(options.snapshot + ": holds no Pod; dump nodes and pods together, of all namespaces (-A)");
  const auto now = choose_now(options.now, *dump);
  if (!now) return now.error();

  std::string caveats = age_warning(*dump);
  const scheduling::ClusterSnapshot snapshot(std::move(dump->objects),
                                             scheduling::quantities_of(policy->spec.compatibility));
  strategies::RestartHistory restarts;
  restarts.restore(policy->status.restarts, *now);
  const planning::PlanSpec spec(policy->spec);
  const auto measured = measured_usage(options.usage, policy->spec, spec, snapshot, *now);
  if (!measured) return measured.error();
  if (const std::string unmeasured = usage_warning(options, spec); !unmeasured.empty())
    caveats += (caveats.empty() ? "" : "; ") + unmeasured;
  planning::EvacuatingPods pods(policy->meta.name, policy->spec.mode);
  for (const api::Evacuation& each : dump->evacuations) pods.add(each);
  planning::PlanOptions as_operator;
  as_operator.spend_pdbs = false;
  if (policy->spec.mode != api::PolicyMode::kManual) as_operator.taint_value = api::soft_taint_value(policy->meta.name);
  // As the operator planned last, where the policy comes from the cluster.
  const auto& last_cycle = policy->status.last_cycle;
  as_operator.placement_hints = options.has_hints || (last_cycle && last_cycle->placement_hints);
  as_operator.elapsed = [begin = std::chrono::steady_clock::now()] {
    return std::chrono::duration_cast<base::Duration>(std::chrono::steady_clock::now() - begin);
  };
  as_operator.executor = base::run_on_all_cores;
  planning::PlanInput input{.spec = spec,
                            .cluster = snapshot,
                            .leaving = pods.leaving,
                            .now = *now,
                            .options = std::move(as_operator),
                            .cooling = std::move(pods.cooling),
                            .restarts = &restarts,
                            .usage = *measured,
                            .server_minor = scheduling::minor_version(options.scheduler_version),
                            .may_time_out = policy->spec.mode == api::PolicyMode::kAutomatic};
  if (policy->status.observed_generation == policy->meta.generation) input.rounds = policy->status.rounds;
  planning::Plan plan = planning::plan_cycle(input);
  note_gain_by_hints(std::move(input), plan);
  const reporting::Report report = reporting::make_report({.policy = policy->meta.name,
                                                           .now = *now,
                                                           .plan = plan,
                                                           .cluster = snapshot,
                                                           .leaving = pods.leaving,
                                                           .warnings = {caveats}});
  if (const auto written = write_reports(report, options.reports); !written) return written.error();
  if (options.output == "table" || options.output == "wide") {
    const bool wide = options.output == "wide";
    const std::string picture = wide ? reporting::block_picture(report, process_block_style()) : "";
    print_tables(*policy, *dump, plan, snapshot.problems(), caveats, picture, wide, *now);
    write_out(measured_tables(*measured, snapshot));
  } else {
    api::Json json = plan_json(*policy, plan, *now);
    if (!caveats.empty()) json["warnings"].push_back(caveats);
    json["usage"] = measured_json(*measured, snapshot);
    json["skippedFiles"] = dump->skipped_files;
    json["problems"] = problems_json(snapshot.problems());
    print_out("{}\n", options.output == "json" ? json.dump(2, ' ', false, api::Json::error_handler_t::replace)
                                               : api::to_yaml(json));
  }
  return base::Done{};
}

}  // namespace

int run_simulate(const SimulateOptions& options) {
  if (const auto done = simulate(options); !done) {
    print_err("evacuator simulate: {}\n", reporting::plain_text(done.error().message));
    return 1;
  }
  return 0;
}

}  // namespace cmd
