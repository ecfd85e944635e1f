#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "advisor/patches.hpp"
#include "test/unit/advisor/decaying_histogram.hpp"

/// Comparison of our profiles with the Vertical Pod Autoscaler's algorithm on the same series.
namespace advising_comparison_test {

using namespace advisor;
using namespace advising_test;

std::string document() {
  std::ifstream file(EVACUATOR_SOURCE_DIR "/docs/advise/limits.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Returns the share of samples above `request`, in percent.
std::string above(const std::vector<double>& cpu, double request) {
  const auto count = std::ranges::count_if(cpu, [&](double value) { return value > request; });
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(count) / static_cast<double>(cpu.size()));
}

std::string row_of(const Truth& truth) {
  const auto points = series_of(truth, 14);
  const auto cpu = cpu_of(points);
  const ContainerHistory history = history_of(points);
  const auto advise = [&](Profile profile) { return advise_container({}, history, rules_of(profile)).recommended; };
  const VpaTarget vpa = vpa_target(points);
  const auto cell = [&](double cores) { return fmt::format("{} ({})", cpu_quantity(cores), above(cpu, cores)); };
  double most = 0;
  for (const Point& point : points) most = std::max(most, point.memory);
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |", truth.name, cell(*advise(Profile::kCore).cpu_request),
                     cell(*advise(Profile::kStandard).cpu_request), cell(*advise(Profile::kPercentile).cpu_request),
                     cell(vpa.cpu), memory_quantity(most), memory_quantity(*advise(Profile::kCore).memory_request),
                     memory_quantity(vpa.memory));
}

TEST(Comparison, EqualsTheDocumentation) {
  const std::string text = document();
  for (const Truth& truth : truths()) EXPECT_THAT(text, testing::HasSubstr(row_of(truth))) << row_of(truth);
}

/// Claims of docs/advise/limits.md about both algorithms.
TEST(Comparison, ADecayingHistogramForgetsPeaksOfThePastWeek) {
  const auto all = truths();
  const auto weekend = series_of(*std::ranges::find(all, "weekend off", &Truth::name), 14);
  const double vpa = vpa_target(weekend).cpu;
  const double core = *advise_container({}, history_of(weekend), rules_of(Profile::kCore)).recommended.cpu_request;
  const auto leak = series_of(*std::ranges::find(all, "leak", &Truth::name), 14);
  const double ours = *advise_container({}, history_of(leak), rules_of(Profile::kCore)).recommended.memory_request;
  EXPECT_LT(vpa, exact_quantile(cpu_of(weekend), 0.95));
  EXPECT_GT(core, 0.6);
  EXPECT_GT(ours, leak.back().memory * 1.14);
}

}  // namespace advising_comparison_test
