/// load_proof: compares rules under the same load in virtual time. load_proof --nodes 1000 --days 3 --seed 7

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "test/scenarios/load/simulation.hpp"

namespace {

void print(const load::Rule& rule, const load::Outcome& outcome) {
  fmt::print(
      "{:16} deviation {:5.2f}  fullest {:5.1f} %  crowded {:5.2f} %  moves {:5} (first day {:5})  returned {}, "
      "needlessly {}  most moves of a pod {}",
      rule.name, outcome.deviation, outcome.peak, 100 * outcome.crowded, outcome.moves, outcome.early_moves,
      outcome.returned, outcome.needless, outcome.most_moves);
  if (outcome.room > 0) fmt::print("  for room {}", outcome.room);
  if (rule.is_guarded) fmt::print("  stopped in {} cycles", outcome.stopped);
  if (rule.soft_taints) fmt::print("  taint patches {} open {:.0f} %", outcome.taint_patches, 100 * outcome.open);
  if (rule.forecast) fmt::print("  trusted {:.0f} %", 100 * outcome.trusted);
  fmt::print("\n");
  for (const std::string& problem : outcome.problems) fmt::print("  problem: {}\n", problem);
}

void print_details(const load::Outcome& outcome) {
  fmt::print("  by hour:");
  for (const double deviation : outcome.hourly) fmt::print(" {:.1f}", deviation);
  fmt::print("\n  refused:");
  for (const auto& [reason, count] : outcome.refused) fmt::print(" {} {}", reason, count);
  fmt::print("\n");
}

/// Returns true if the imbalance is at most half of that of upstream's better rule, with at most its number of moves.
bool meets_aim(const load::Outcome& ours, const std::vector<load::Outcome>& upstream) {
  const load::Outcome& better = load::better_of(upstream);
  const bool meets = ours.deviation <= better.deviation / 2 && ours.moves <= better.moves;
  fmt::print("  {}: {:.2f} of the better upstream rule's deviation with {:.2f} of its moves\n",
             meets ? "aim met" : "AIM MISSED", ours.deviation / better.deviation,
             static_cast<double>(ours.moves) / std::max(better.moves, 1));
  return meets;
}

/// Compares short runs of small clusters.
int compare_seeds(std::uint64_t first, int count) {
  const std::vector<load::Rule> rules = {load::no_descheduling(), load::ours(false), load::ours(true)};
  std::vector<int> oscillating(rules.size()), worse(rules.size()), moves(rules.size()), returned(rules.size());
  std::vector<int> needless(rules.size()), stopped(rules.size());
  std::vector<double> deviation(rules.size());
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed) {
    const auto outcomes = load::simulate(load::small(seed), rules);
    for (std::size_t i = 0; i < rules.size(); ++i) {
      deviation[i] += outcomes[i].deviation / count;
      moves[i] += outcomes[i].moves;
      worse[i] += outcomes[i].deviation > outcomes[0].deviation ? 1 : 0;
      returned[i] += outcomes[i].returned;
      needless[i] += outcomes[i].needless;
      stopped[i] += outcomes[i].stopped;
      if (outcomes[i].most_needless < 2) continue;
      ++oscillating[i];
      fmt::print("oscillates: {}, seed {}\n", rules[i].name, seed);
    }
  }
  fmt::print("{} seeds from {}\n", count, first);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    fmt::print(
        "{:16} oscillates in {}, worse than none in {}, mean deviation {:.2f}, moves a seed {:.1f}; of all moves "
        "{} returns, {} needless; {} cycles stopped\n",
        rules[i].name, oscillating[i], worse[i], deviation[i], static_cast<double>(moves[i]) / count, returned[i],
        needless[i], stopped[i]);
  }
  return oscillating[1] + oscillating[2] + worse[1] + worse[2] == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compares ways to place pods under the same load, in virtual time");
  load::Settings settings;
  int days = 3;
  int seeds = 0;
  bool verbose = false;
  bool check = false;
  std::vector<std::string> only;
  std::vector<std::string> choices;
  app.add_option("--nodes", settings.parameters.nodes, "nodes")->check(CLI::Range(2, 5000));
  app.add_option("--pods-per-node", settings.parameters.pods_per_node)->check(CLI::Range(1, 100));
  app.add_option("--days", days, "how long; what is measured begins after the first")->check(CLI::Range(2, 60));
  app.add_option("--seed", settings.seed);
  app.add_option("--only", only, "names of rules");
  app.add_option("--ours", choices,
                 "further settings of ours: low,high,window,samples,of,horizon,percentile,forecast,minScore");
  app.add_option("--seeds", seeds, "short runs of small clusters instead: no rule of ours may oscillate");
  app.add_flag("--by-chance", settings.by_chance, "the scheduler decides among equal nodes, not the plan");
  app.add_flag("--check", check, "fail when the aim is missed");
  app.add_flag("--verbose", verbose, "hour by hour");
  CLI11_PARSE(app, argc, argv);
  if (seeds > 0) return compare_seeds(settings.seed, seeds);
  settings.length = std::chrono::hours(24) * days;
  std::vector<load::Rule> rules = {load::no_descheduling(), load::upstream_static(), load::upstream_deviation(),
                                   load::ours(false), load::ours(true)};
  if (!only.empty())
    std::erase_if(rules, [&](const auto& rule) { return std::ranges::find(only, rule.name) == only.end(); });
  for (const std::string& text : choices) {
    load::Choices c;
    int forecast = 0;
    std::istringstream in(text);
    char comma = 0;
    in >> c.low >> comma >> c.high >> comma >> c.window >> comma >> c.samples >> comma >> c.of >> comma >> c.horizon >>
        comma >> c.percentile >> comma >> forecast >> comma >> c.min_score;
    rules.push_back(load::ours(forecast != 0, c));
    rules.back().name = text;
  }
  fmt::print("{} nodes, {} days, seed {}\n", settings.parameters.nodes, days, settings.seed);
  const auto outcomes = load::simulate(settings, rules);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    print(rules[i], outcomes[i]);
    if (verbose) print_details(outcomes[i]);
  }
  if (!check || !only.empty()) return 0;
  const std::vector<load::Outcome> upstream = {outcomes[1], outcomes[2]};
  const bool now = meets_aim(outcomes[3], upstream);
  const bool foreseen = meets_aim(outcomes[4], upstream);
  return now && foreseen ? 0 : 1;
}
