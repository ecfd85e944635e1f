/// test_soak [--first SEED] [--seeds N] [--verbose] [--live SECONDS]: one run per seed; exits with 1 if an invariant
/// was violated.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "test/soak/live/live_world.hpp"
#include "test/soak/world/world.hpp"

namespace {

struct Totals {
  int passed = 0;
  int failed = 0;
  std::map<std::string, int> endings;
};

void fail(std::uint64_t seed, Totals& totals) {
  ++totals.failed;
  fmt::print("seed {} FAILED; replay it: make soak FIRST={} SEEDS=1 SOAK_FLAGS=--verbose\n", seed, seed);
}

void run_seed(std::uint64_t seed, bool verbose, Totals& totals) {
  const auto tell = [](const std::string& line) { fmt::print("  {}\n", line); };
  soak::World world(seed, verbose ? std::function<void(const std::string&)>(tell) : nullptr);
  const auto violations = world.run();
  for (const auto& [ending, count] : world.invariants().endings()) totals.endings[ending] += count;
  if (violations.empty()) {
    ++totals.passed;
    return;
  }
  fail(seed, totals);
  for (const std::string& each : violations) fmt::print("    {}\n", each);
  std::fflush(stdout);
}

void run_live(std::uint64_t seed, base::seconds time, Totals& totals) {
  const auto violations = soak::LiveWorld(seed).run(time);
  if (violations.empty()) {
    ++totals.passed;
    return;
  }
  ++totals.failed;
  fmt::print("live seed {} FAILED\n", seed);
  for (const std::string& each : violations) fmt::print("    {}\n", each);
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
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    try {
      if (live > 0) {
        run_live(seed, base::seconds(live), totals);
      } else {
        run_seed(seed, verbose, totals);
      }
    } catch (const std::exception& error) {
      fail(seed, totals);
      fmt::print("    {}\n", error.what());
    }
  }
  for (const auto& [ending, count] : totals.endings) fmt::print("{:7} {}\n", count, ending);
  fmt::print("{} passed, {} failed\n", totals.passed, totals.failed);
  return totals.failed == 0 ? 0 : 1;
}
