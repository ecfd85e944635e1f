/// frag_proof: compares the nodes that strategies free in fragmented clusters. frag_proof --kind classic --nodes 200
/// --seeds 3

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "cmd/offline/dump.hpp"
#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"
#include "test/scenarios/fragmentation/aims.hpp"
#include "test/scenarios/fragmentation/clusters.hpp"
#include "test/scenarios/fragmentation/exact.hpp"
#include "test/scenarios/fragmentation/judge.hpp"
#include "test/scenarios/fragmentation/other_strategies.hpp"

namespace {

using fragmentation::Verdict;

constexpr std::size_t kMaxNodesForMoves = 12;  // maximum size of clusters for which an exact solver minimizes the moves

struct Run {
  Verdict verdict;
  double seconds = 0;
  int promised = 0;  ///< upper bound that the strategy reports
};

Run run(const scheduling::SnapshotInput& input, const std::string& strategy, const std::string& args, bool is_timed,
        bool with_hints = false) {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({strategy, args});
  const planner::PlanSpec spec(policy);
  const scheduling::ClusterSnapshot cluster(input);
  const auto seconds = [begin = std::clock()] {  // CPU time, since other processes may use the machine
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  planner::PlanOptions options{.spend_pdbs = false, .taint_value = "proof"};
  options.placement_hints = with_hints;
  if (is_timed)
    options.elapsed = [&] {
      return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds()));
    };
  const planner::Plan plan = planner::plan_cycle(
      {.spec = spec, .cluster = cluster, .leaving = {}, .now = builders::kNoon, .options = std::move(options)});
  const double taken = seconds();
  int promised = 0;
  for (const auto& result : plan.strategies) promised = result.emptying ? result.emptying->bound : promised;
  return {fragmentation::judge(input, plan.moves), taken, promised};
}

/// Arguments of Evacuator's strategy.
struct OurArgs {
  std::string budget{};  ///< timeBudget in CPU time, empty if none
  std::string text() const { return budget.empty() ? "{}" : fmt::format(R"({{"timeBudget": "{}"}})", budget); }
};

Run run(const scheduling::SnapshotInput& input, const OurArgs& args, bool with_hints) {
  return run(input, "Defragmentation", args.text(), !args.budget.empty(), with_hints);
}

/// A cluster to plan for.
struct Subject {
  std::string kind;  ///< kind or file name
  int nodes;
  std::uint64_t seed;
  scheduling::SnapshotInput input;
};

/// Prints the first budget that gives a useful plan, with freed nodes within 2 % of the result of a minute.
int time_plan(const Subject& subject) {
  const auto& [kind, nodes, seed, input] = subject;
  const Run best = run(input, "Defragmentation", R"({"timeBudget": "60s"})", true);
  fmt::print("{:10} {:5} seed {}  {} nodes of {} in {:.2f} s;", kind, nodes, seed, best.verdict.freed(),
             std::min(best.verdict.bound, best.promised), best.seconds);
  for (const char* budget : {"250ms", "500ms", "1s", "2s", "5s", "10s", "20s"}) {
    const Run now = run(input, "Defragmentation", fmt::format(R"({{"timeBudget": "{}"}})", budget), true);
    fmt::print(" {}: {} ({} moves)", budget, now.verdict.freed(), now.verdict.moves);
    if (now.verdict.freed() * 100 >= best.verdict.freed() * 98) break;
  }
  fmt::print("\n");
  std::fflush(stdout);
  return 0;
}

/// Runs an exact solver. Disabled if `seconds` is 0.
struct Solver {
  int seconds = 0;
  int asked = 0;
  int unproven = 0;    ///< number of clusters with an answer that is only a bound
  int unanswered = 0;  ///< number of clusters without an answer

  std::optional<fragmentation::Optimum> ask(const scheduling::SnapshotInput& input, const Verdict& ours) {
    if (seconds == 0) return std::nullopt;
    ++asked;
    const auto nodes = fragmentation::solve(fragmentation::exact_problem(input, {}), seconds);
    if (input.nodes.size() > kMaxNodesForMoves) return ask_for_nodes(nodes, ours);
    const auto moves =
        fragmentation::solve(fragmentation::exact_problem(input, {.most_busy = ours.busy_after}), seconds);
    unanswered += nodes && moves ? 0 : 1;
    if (!nodes || !moves) return std::nullopt;
    unproven += nodes->is_proven && moves->is_proven ? 0 : 1;
    const int max_freed = ours.busy_before - nodes->value;
    fmt::print("  exact: {} nodes{}; {} moves{} for {} nodes, {:.2f} times as many here\n", max_freed,
               nodes->is_proven ? "" : " at most", moves->value, moves->is_proven ? "" : " at least", ours.freed(),
               static_cast<double>(ours.moves) / std::max(moves->value, 1));
    return fragmentation::Optimum{max_freed, nodes->is_proven, moves->value};
  }

  /// Used for larger clusters, for which the solver cannot minimize the moves.
  std::optional<fragmentation::Optimum> ask_for_nodes(const std::optional<fragmentation::ExactAnswer>& nodes,
                                                      const Verdict& ours) {
    unanswered += nodes ? 0 : 1;
    if (!nodes) return std::nullopt;
    unproven += nodes->is_proven ? 0 : 1;
    const int max_freed = ours.busy_before - nodes->value;
    fmt::print("  exact: {} nodes{}\n", max_freed, nodes->is_proven ? "" : " at most");
    return fragmentation::Optimum{max_freed, nodes->is_proven, std::nullopt};
  }
};

std::string text_of(const fragmentation::Rival& rival) {
  return fmt::format("{:4} ({:5} moves)", rival.freed, rival.moves);
}

fragmentation::Rival rival(std::string_view name, const fragmentation::Course& course) {
  return {name, course.freed, course.moves};
}

/// Prints the aims that are missed. Returns true if none is.
bool meets_all(const fragmentation::Attempt& attempt, std::string_view how) {
  const std::vector<std::string> missed = fragmentation::missed_aims(attempt);
  for (const std::string& aim : missed) fmt::print("  MISSED {}{}\n", how, aim);
  return missed.empty();
}

/// Compares plans without and with placement hints, each as another method for the other. Returns true if all aims are
/// met.
bool compare(const Subject& subject, const OurArgs& args, Solver& solver) {
  const auto& [kind, nodes, seed, input] = subject;
  const auto packed = rival("HighNodeUtilization", fragmentation::run_to_the_end(input, fragmentation::packing()));
  const auto alternated =
      rival("AlternatingUtilization", fragmentation::run_to_the_end(input, fragmentation::alternating()));
  const Run plain = run(input, args, false);
  const Run hinted = run(input, args, true);
  const auto optimum = solver.ask(input, plain.verdict);
  const auto ours = [](const Run& run) {
    return fragmentation::Rival{"the other way", run.verdict.freed(), run.verdict.moves};
  };
  fmt::print("{:10} {:5} seed {}  bound {:4}, ours {:4}  HighNodeUtilization {}  AlternatingUtilization {}\n", kind,
             nodes, seed, plain.verdict.bound, plain.promised, text_of(packed), text_of(alternated));
  for (const auto& [how, run] : {std::pair("", &plain), std::pair(" with hints", &hinted)})
    fmt::print("  Defragmentation{} {} in {} waves, {:.2f} s\n", how, text_of(ours(*run)), run->verdict.waves,
               run->seconds);
  const auto meets = [&](const Run& run, const Run& other, bool with_hints,
                         const std::optional<fragmentation::Optimum>& best) {
    return meets_all({subject.kind,
                      run.verdict,
                      {packed, alternated},
                      {{ours(other)}},
                      best,
                      run.promised,
                      fragmentation::marks_of(subject.kind, subject.nodes, with_hints)},
                     with_hints ? "with hints: " : "");
  };
  bool is_met = meets(plain, hinted, false, optimum);
  auto with_hints = optimum;
  // its moves belong to a different number of nodes
  if (with_hints && plain.verdict.freed() != hinted.verdict.freed()) with_hints->moves.reset();
  is_met &= meets(hinted, plain, true, with_hints);
  std::fflush(stdout);
  return is_met;
}

/// Prints an error and returns nullopt if the file cannot be read.
std::optional<Subject> read(const std::string& file) {
  auto dump = cmd::load_dump(file);
  if (!dump) {
    fmt::print(stderr, "{}\n", dump.error().message);
    return std::nullopt;
  }
  const int nodes = static_cast<int>(dump->objects.nodes.size());
  return Subject{file, nodes, 0, std::move(dump->objects)};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compares what strategies free of fragmented clusters with what could be freed");
  std::vector<std::string> chosen;
  std::vector<int> sizes = {10, 20, 200};
  std::uint64_t first = 1;
  int seeds = 3;
  bool check = false;
  app.add_option("--kind", chosen, "some kinds only");
  app.add_option("--nodes", sizes, "sizes")->check(CLI::Range(2, 10000));
  app.add_option("--seed", first, "the first seed");
  app.add_option("--seeds", seeds)->check(CLI::Range(1, 1000));
  Solver solver;
  OurArgs args;
  app.add_option("--budget", args.budget, "timeBudget of Defragmentation, of the processor's time");
  app.add_option("--exact", solver.seconds, "ask cbc for the optimum, so many seconds for each question");
  bool is_bench = false;
  app.add_flag("--time", is_bench, "only tell how much time a plan takes that is within 2 % of what a minute gives");
  app.add_flag("--check", check, "fail when an aim is missed");
  bool is_adverse = false;
  app.add_flag("--adverse", is_adverse, "the kinds that are made to be hard instead of the usual ones");
  std::vector<std::string> dumps;
  app.add_option("--dump", dumps, "clusters from these files instead (kubectl get … -A -o json)");
  CLI11_PARSE(app, argc, argv);
  if (solver.seconds > 0 && !fragmentation::has_solver()) {
    fmt::print(stderr, "--exact needs cbc (Debian's coinor-cbc)\n");
    return 2;
  }
  int missed = 0;
  int clusters = 0;
  const auto look_at = [&](const Subject& subject) {
    ++clusters;
    missed += is_bench ? time_plan(subject) : compare(subject, args, solver) ? 0 : 1;
  };
  for (const std::string& file : dumps) {
    const auto subject = read(file);
    if (!subject) return 2;
    look_at(*subject);
  }
  for (const std::string_view kind : is_adverse ? fragmentation::adverse_kinds() : fragmentation::kinds()) {
    if (!dumps.empty() || (!chosen.empty() && std::ranges::find(chosen, kind) == chosen.end())) continue;
    for (const int nodes : sizes) {
      for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(seeds); ++seed)
        look_at({std::string(kind), nodes, seed, fragmentation::make_cluster(kind, nodes, seed)});
    }
  }
  fmt::print("{} of {} clusters missed an aim\n", missed, clusters);
  if (solver.asked > 0)
    fmt::print("exact: {} asked, {} not proven (bounds), {} without an answer\n", solver.asked, solver.unproven,
               solver.unanswered);
  return check && (missed > 0 || solver.unanswered > 0) ? 1 : 0;
}
