#include "planner/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace report {
namespace {

std::string freed_line(const Report& report) {
  const auto most = std::ranges::max_element(report.bounds, {}, &ReportBound::most);
  if (most == report.bounds.end())
    return fmt::format("{} of {} with pods freed.", report.freed(), plural(report.busy_before, "node"));
  const std::string reason = most->reason.empty() ? "" : ", because of " + most->reason;
  return fmt::format("{} of {} with pods freed; at most {} could be{}.", report.freed(), plural(most->busy, "node"),
                     most->most, reason);
}

std::string moves_line(const Report& report) {
  const auto waves = std::ranges::count_if(report.waves(), [](std::int32_t wave) { return wave > 0; });
  std::string line = plural(static_cast<std::int64_t>(report.moves.size()), "move");
  if (waves > 0) line += " in " + plural(waves, "wave");
  if (report.freed() > 0)
    line += fmt::format(", {:.1f} for each freed node", static_cast<double>(report.moves.size()) / report.freed());
  return line + ".";
}

std::string share_line(const Report& report) {
  const BusyShare& cpu = report.busy_share[static_cast<std::size_t>(Resource::kCpu)];
  const BusyShare& memory = report.busy_share[static_cast<std::size_t>(Resource::kMemory)];
  return fmt::format("Nodes with pods: CPU requests {} → {}, memory {} → {}.", percent(cpu.before), percent(cpu.after),
                     percent(memory.before), percent(memory.after));
}

}  // namespace

std::string percent(double share) {
  const double value = share * 100;
  if (value > 0 && value < 1) return "< 1 %";
  if (value > 99 && value < 100) return "99 %";
  return fmt::format("{:.0f} %", std::round(value));
}

std::string plural(std::int64_t count, std::string_view noun) {
  std::string digits = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return fmt::format("{} {}{}", digits, noun, count == 1 ? "" : "s");
}

std::vector<std::string> summary_lines(const Report& report) {
  return {fmt::format("Policy {} on the cluster of {}: {}, {}.", report.policy, report.now,
                      plural(static_cast<std::int64_t>(report.nodes.size()), "node"),
                      plural(static_cast<std::int64_t>(report.pods.size()), "pod")),
          freed_line(report), moves_line(report), share_line(report)};
}

}  // namespace report
