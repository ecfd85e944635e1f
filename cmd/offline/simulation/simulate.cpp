#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/descheduler_policy.hpp"
#include "api/json/yaml.hpp"
#include "api/meta/label_value.hpp"
#include "base/parallel.hpp"
#include "cmd/commands.hpp"
#include "cmd/offline/block_style.hpp"
#include "cmd/offline/dump.hpp"
#include "cmd/offline/measured.hpp"
#include "cmd/offline/policy_files.hpp"
#include "cmd/offline/report_files.hpp"
#include "cmd/offline/simulation/plan_view.hpp"
#include "cmd/output.hpp"
#include "planner/plan/evacuating_pods.hpp"
#include "planner/plan/planner.hpp"
#include "planner/report/picture/blocks.hpp"
#include "planner/report/plain_text.hpp"
#include "planner/report/summary.hpp"
#include "planner/scheduling/scoring/scheduler_rules.hpp"

namespace cmd {
namespace {

/// Warns if strategies need measured usage but none is given, or if it is given but unused.
std::string usage_warning(const SimulateOptions& options, const planner::PlanSpec& spec) {
  const bool is_needed = !spec.strategy_specs.usage_needs().empty();
  if (options.usage.empty() == !is_needed) return {};
  return is_needed ? "the policy uses measured usage: set --usage FILE or --usage live"
                   : "--usage is set, but no strategy of the policy uses measured usage";
}

std::string gain_by_hints(const strategies::EmptyingReport& without, const strategies::EmptyingReport& with,
                          std::size_t moves) {
  if (with.freed <= without.freed) return "placement hints would free no more nodes";
  return fmt::format("placement hints would free {} nodes, {} more, with {} moves: install the placement webhook",
                     with.freed, with.freed - without.freed, moves);
}

/// If a strategy frees fewer nodes than its bound without placement hints, plans once more with hints and notes the
/// gain. This may double the run time.
void note_gain_by_hints(planner::PlanInput input, planner::Plan& plan) {
  const auto is_short = [](const planner::StrategyResult& each) {
    return each.emptying && each.problem.empty() && each.emptying->freed < each.emptying->bound;
  };
  if (input.options.placement_hints || std::ranges::none_of(plan.strategies, is_short)) return;
  input.options.placement_hints = true;
  const planner::Plan hinted = planner::plan_cycle(input);
  for (std::size_t i = 0; i < plan.strategies.size() && i < hinted.strategies.size(); ++i) {
    const planner::StrategyResult& other = hinted.strategies[i];
    if (!is_short(plan.strategies[i]) || !other.emptying) continue;
    std::string& note = plan.strategies[i].emptying->note;
    note += (note.empty() ? "" : "; ") +
            gain_by_hints(*plan.strategies[i].emptying, *other.emptying, static_cast<std::size_t>(other.nominated));
  }
}

/// The parsed input. Building the snapshot consumes the objects of the dump.
struct Question {
  api::DeschedulerPolicy policy;
  Dump dump;
  Now now{};
};

base::Status check_dump(const Dump& dump, const std::string& name) {
  if (dump.objects.nodes.empty()) return base::invalid(name + ": contains no Node; dump nodes and pods together");
  if (dump.objects.pods.empty())
    return base::invalid(name + ": contains no Pod; dump nodes and pods together, of all namespaces (-A)");
  return base::Done{};
}

base::Result<Question> read_question(const SimulateOptions& options) {
  if (const auto checked = check_report_paths(options.reports); !checked) return checked.error();
  if (options.policy == "-" && options.snapshot == "-")
    return base::invalid("standard input can be the dump or the policy, not both");
  const auto policies = load_policies(options.policy);
  if (!policies) return policies.error();
  auto policy = choose_policy(*policies, options.policy_name, options.policy);
  if (!policy) return policy.error();
  auto dump = load_dump(options.snapshot);
  if (!dump) return dump.error();
  if (const auto checked = check_dump(*dump, options.snapshot); !checked) return checked.error();
  const auto now = choose_now(options.now, *dump);
  if (!now) return now.error();
  return Question{*std::move(policy), *std::move(dump), *now};
}

constexpr std::size_t kMaxNodeRows = 200;

/// Returns the plan options that the operator would use, as far as they are known.
planner::PlanOptions as_operator(const SimulateOptions& options, const api::DeschedulerPolicy& policy) {
  planner::PlanOptions as_operator;
  as_operator.spend_pdbs = false;
  as_operator.max_node_rows = kMaxNodeRows;
  if (policy.spec.mode != api::PolicyMode::kManual) as_operator.taint_value = api::soft_taint_value(policy.meta.name);
  // a policy from the cluster records whether the operator used placement hints in its last cycle
  const auto& last_cycle = policy.status.last_cycle;
  as_operator.placement_hints = options.has_hints || (last_cycle && last_cycle->placement_hints);
  as_operator.elapsed = [begin = std::chrono::steady_clock::now()] {
    return std::chrono::duration_cast<base::Duration>(std::chrono::steady_clock::now() - begin);
  };
  as_operator.executor = base::run_on_all_cores;
  return as_operator;
}

/// Input of the report, in addition to the Question.
struct Answer {
  const scheduling::ClusterSnapshot& snapshot;
  planner::EvacuatingPods pods;
  UsageAnswers measured;
  planner::Plan plan;
  std::string caveats;
};

void make_plan(const SimulateOptions& options, const Question& question, const planner::PlanSpec& spec,
               Answer& answer) {
  const api::DeschedulerPolicy& policy = question.policy;
  strategies::RestartHistory restarts;
  restarts.restore(policy.status.restarts, question.now.time);
  planner::PlanInput input{.spec = spec,
                           .cluster = answer.snapshot,
                           .leaving = answer.pods.leaving,
                           .now = question.now.time,
                           .options = as_operator(options, policy),
                           .cooling = std::move(answer.pods.cooling),
                           .restarts = &restarts,
                           .usage = answer.measured.figures,
                           .server_minor = scheduling::minor_version(options.scheduler_version),
                           .may_time_out = policy.spec.mode == api::PolicyMode::kAutomatic};
  if (policy.status.observed_generation == policy.meta.generation) input.strategy_state = policy.status.strategy_state;
  answer.plan = planner::plan_cycle(input);
  note_gain_by_hints(std::move(input), answer.plan);
}

std::set<std::string> ended_pods(const scheduling::ClusterSnapshot& cluster) {
  std::set<std::string> uids;
  for (const scheduling::PodIndex pod : cluster.pods()) {
    if (!cluster.is_active(pod)) uids.insert(cluster.pod(pod).meta.uid);
  }
  return uids;
}

void print_for_people(const SimulateOptions& options, const Question& question, const Answer& answer,
                      const report::Report& report) {
  const bool is_wide = options.output == "wide";
  print_tables(question.policy, question.dump, answer.plan, answer.snapshot.problems(),
               {.caveats = answer.caveats,
                .picture = is_wide ? report::block_picture(report, process_block_style()) : "",
                .now_source = question.now.source,
                .ended_pods = ended_pods(answer.snapshot),
                .is_wide = is_wide},
               question.now.time);
  write_out(measured_tables(answer.measured, answer.snapshot));
}

void print_for_programs(const SimulateOptions& options, const Question& question, const Answer& answer) {
  api::Json json = plan_json(question.policy, answer.plan, question.now.time);
  json["nowSource"] = question.now.source;
  if (!answer.caveats.empty()) json["warnings"].push_back(answer.caveats);
  json["usage"] = measured_json(answer.measured, answer.snapshot);
  json["skippedFiles"] = question.dump.skipped_files;
  json["problems"] = problems_json(answer.snapshot.problems());
  print_out("{}\n", options.output == "json" ? json.dump(2, ' ', false, api::Json::error_handler_t::replace)
                                             : api::to_yaml(json));
}

base::Status report_on(const SimulateOptions& options, const Question& question, const Answer& answer) {
  const report::Report report = report::make_report({.policy = question.policy.meta.name,
                                                     .now = question.now.time,
                                                     .plan = answer.plan,
                                                     .cluster = answer.snapshot,
                                                     .leaving = answer.pods.leaving,
                                                     .warnings = {answer.caveats}});
  if (const auto written = write_reports(report, options.reports); !written) return written.error();
  if (options.output == "table" || options.output == "wide") {
    print_for_people(options, question, answer, report);
  } else {
    print_for_programs(options, question, answer);
  }
  return base::Done{};
}

base::Status simulate(const SimulateOptions& options) {
  auto question = read_question(options);
  if (!question) return question.error();
  const api::DeschedulerPolicy& policy = question->policy;
  std::string caveats = input_warnings(question->dump);
  const scheduling::ClusterSnapshot snapshot(std::move(question->dump.objects),
                                             scheduling::quantities_of(policy.spec.compatibility));
  const planner::PlanSpec spec(policy.spec);
  const auto measured = measured_usage(options.usage, policy.spec, spec, snapshot, question->now.time);
  if (!measured) return measured.error();
  if (const std::string unmeasured = usage_warning(options, spec); !unmeasured.empty())
    caveats += (caveats.empty() ? "" : "; ") + unmeasured;
  planner::EvacuatingPods pods(policy.meta.name, policy.spec.mode);
  for (const api::Evacuation& each : question->dump.evacuations) pods.add(each);
  Answer answer{snapshot, std::move(pods), *measured, {}, std::move(caveats)};
  make_plan(options, *question, spec, answer);
  return report_on(options, *question, answer);
}

}  // namespace

int run_simulate(const SimulateOptions& options) {
  if (const auto done = simulate(options); !done) {
    print_err("evacuator simulate: {}\n", report::plain_text(done.error().message));
    return 1;
  }
  return 0;
}

}  // namespace cmd
