/// frag_proof: what strategies free of fragmented clusters. frag_proof --kind classic --nodes 200 --seeds 3

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>

#include "planning/planner.hpp"
#include "test/builders/cluster.hpp"
#include "test/scenarios/fragmentation/clusters.hpp"
#include "test/scenarios/fragmentation/judge.hpp"

namespace {

using fragmentation::Verdict;

struct Run {
  Verdict verdict;
  double seconds = 0;
};

Run run(const scheduling::SnapshotInput& input, const std::string& strategy, const std::string& args) {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({strategy, args});
  const planning::PlanSpec spec(policy);
  const scheduling::ClusterSnapshot cluster(input);
  const std::clock_t begin = std::clock();
  const planning::Plan plan = planning::plan_cycle({.spec = spec,
                                                    .cluster = cluster,
                                                    .leaving = {},
                                                    .now = builders::kNoon,
                                                    .options = {.spend_pdbs = false, .taint_value = "proof"}});
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;  // others may use the machine, too
  return {fragmentation::judge(input, plan.moves), seconds};
}

/// True: the aim is met.
bool compare(std::string_view kind, int nodes, std::uint64_t seed) {
  const scheduling::SnapshotInput input = fragmentation::make_cluster(kind, nodes, seed);
  const Run packed = run(input, "HighNodeUtilization", R"({"thresholds": {"cpu": 50, "memory": 50}})");
  const Run ours = run(input, "Defragmentation", "{}");
  const int freed = ours.verdict.freed();
  const bool enough = freed >= packed.verdict.freed() && freed * 100 >= ours.verdict.bound * 95;
  fmt::print(
      "{:10} {:5} seed {}  bound {:4}  HighNodeUtilization {:4} ({} moves)  Defragmentation {:4} ({:5} moves, {} "
      "waves, {:.2f} s){}\n",
      kind, nodes, seed, ours.verdict.bound, packed.verdict.freed(), packed.verdict.moves, freed, ours.verdict.moves,
      ours.verdict.waves, ours.seconds, enough ? "" : "  BELOW THE AIM");
  for (const std::string& text : ours.verdict.broken) fmt::print("  broken: {}\n", text);
  std::fflush(stdout);
  return enough && ours.verdict.broken.empty();
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
  app.add_flag("--check", check, "fail when an aim is missed");
  CLI11_PARSE(app, argc, argv);
  int missed = 0;
  int clusters = 0;
  for (const std::string_view kind : fragmentation::kinds()) {
    if (!chosen.empty() && std::ranges::find(chosen, kind) == chosen.end()) continue;
    for (const int nodes : sizes) {
      for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(seeds); ++seed, ++clusters)
        missed += compare(kind, nodes, seed) ? 0 : 1;
    }
  }
  fmt::print("{} of {} clusters missed the aim\n", missed, clusters);
  return check && missed > 0 ? 1 : 0;
}
