/// load_proof: rules compared under the same load, in virtual time. load_proof --nodes 1000 --days 3 --seed 7

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "test/scenarios/load/simulation.hpp"

namespace {

void print(const load::Rule& rule, const load::Outcome& outcome) {
  fmt::print(
      "{:16} deviation {:5.2f}  fullest {:5.1f} %  crowded {:5.2f} %  moves {:5} (first day {:5})  returned {}  room "
      "{}",
      rule.name, outcome.deviation, outcome.peak, 100 * outcome.crowded, outcome.moves, outcome.early_moves,
      outcome.returned, outcome.room);
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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compares ways to place pods under the same load, in virtual time");
  load::Settings settings;
  int days = 3;
  bool verbose = false;
  std::vector<std::string> only;
  std::vector<std::string> choices;
  app.add_option("--nodes", settings.parameters.nodes, "nodes")->check(CLI::Range(2, 5000));
  app.add_option("--pods-per-node", settings.parameters.pods_per_node)->check(CLI::Range(1, 100));
  app.add_option("--days", days, "how long; what is measured begins after the first")->check(CLI::Range(2, 60));
  app.add_option("--seed", settings.seed);
  app.add_option("--only", only, "names of rules");
  app.add_option("--ours", choices, "further settings of ours: low,high,window,samples,of,horizon,percentile,forecast");
  app.add_flag("--verbose", verbose, "hour by hour");
  CLI11_PARSE(app, argc, argv);
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
        comma >> c.percentile >> comma >> forecast;
    rules.push_back(load::ours(forecast != 0, c));
    rules.back().name = text;
  }
  fmt::print("{} nodes, {} days, seed {}\n", settings.parameters.nodes, days, settings.seed);
  const auto outcomes = load::simulate(settings, rules);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    print(rules[i], outcomes[i]);
    if (verbose) print_details(outcomes[i]);
  }
  return 0;
}
