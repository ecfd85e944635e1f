/// test_soak [--first SEED] [--seeds N] [--verbose] [--live SECONDS]: one run per seed. Exits with 1 if an invariant
/// was violated.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "test/soak/live/live_world.hpp"
#include "test/soak/world/world.hpp"

namespace {

struct Totals {
  int passed = 0;
  int failed = 0;
  std::map<std::string, int> endings;
};

void fail(std::uint64_t seed, const std::vector<std::string>& why, const std::string& flags, Totals& totals) {
  ++totals.failed;
  fmt::print("seed {} FAILED; replay it: make soak FIRST={} SEEDS=1 SOAK_FLAGS=\"{}\"\n", seed, seed, flags);
  for (const std::string& each : why) fmt::print("    {}\n", each);
  std::fflush(stdout);
}

std::vector<std::string> run_seed(std::uint64_t seed, bool verbose, Totals& totals) {
  const auto tell = [](const std::string& line) { fmt::print("  {}\n", line); };
  soak::World world(seed, verbose ? std::function<void(const std::string&)>(tell) : nullptr);
  auto violations = world.run();
  for (const auto& [ending, count] : world.invariants().endings()) totals.endings[ending] += count;
  return violations;
}

std::vector<std::string> try_seed(std::uint64_t seed, int live, bool verbose, Totals& totals) {
  try {
    return live > 0 ? soak::LiveWorld(seed).run(base::seconds(live)) : run_seed(seed, verbose, totals);
  } catch (const std::exception& error) {
    return {error.what()};
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t first = 1;
  std::uint64_t seeds = 100;
  bool verbose = false;
  CLI::App app("Random worlds under random misfortune: the invariants of an Evacuation must hold in all of them");
  app.add_option("--first", first, "first seed");
  app.add_option("--seeds", seeds, "how many seeds");
  app.add_flag("--verbose", verbose, "tell what chance does");
  int live = 0;
  app.add_option("--live", live, "with the operator's threads, so many seconds for each seed");
  CLI11_PARSE(app, argc, argv);
  Totals totals;
  const std::string flags = live > 0 ? fmt::format("--live {}", live) : "--verbose";
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const auto violations = try_seed(seed, live, verbose, totals);
    if (violations.empty()) {
      ++totals.passed;
    } else {
      fail(seed, violations, flags, totals);
    }
  }
  for (const auto& [ending, count] : totals.endings) fmt::print("{:7} {}\n", count, ending);
  fmt::print("{} passed, {} failed\n", totals.passed, totals.failed);
  return totals.failed == 0 ? 0 : 1;
}
