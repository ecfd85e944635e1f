#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "test/bench/real/observe.hpp"

namespace bench {
namespace {

using Json = nlohmann::json;

struct Row {
  const char* field;
  const char* title;
};

constexpr std::array kRows = {
    Row{"evictions", "evictions"},
    Row{"evictions_refused", "evictions refused"},
    Row{"evictions_per_s", "evictions a second"},
    Row{"eviction_call_median_s", "eviction call, s"},
    Row{"eviction_call_longest_s", "longest eviction call, s"},
    Row{"lease_request_median_s", "Lease request, s"},
    Row{"lease_request_longest_s", "longest Lease request, s"},
    Row{"start_to_first_eviction_s", "start to first eviction call, s"},
    Row{"creation_to_first_eviction_s", "first Evacuation to first eviction call, s"},
    Row{"peak_rss_mib", "peak RSS, MiB"},
    Row{"cpu_start_to_sample_s", "CPU, start and 100 evictions, s"},
    Row{"cpu_ms_an_eviction", "CPU an eviction, ms"},
    Row{"cpu_ms_an_eviction_apiserver", "of the API server, ms"},
    Row{"cpu_ms_an_eviction_etcd", "of etcd, ms"},
    Row{"requests_an_eviction", "requests an eviction"},
    Row{"threads", "threads"},
    Row{"cpu_at_rest_percent", "CPU at rest, % of a core"},
    Row{"threads_at_rest", "threads at rest"},
    Row{"rss_at_rest_mib", "RSS at rest, MiB"},
    Row{"cycle_ms", "a cycle that moves nothing, ms"},
    Row{"cpu_in_cycles_percent", "CPU with such a cycle a minute, % of a core"},
};

/// field → its value in each run
using Values = std::map<std::string, std::vector<double>>;

void take(Values& values, const Json& run) {
  for (const auto& [field, value] : run.items()) {
    if (value.is_number()) values[field].push_back(value.get<double>());
  }
  if (!run.contains("requests")) return;
  for (const auto& [what, times] : run["requests"].items()) values["· " + what].push_back(times.get<double>());
}

/// Returns the median, with the range if there were several runs.
std::string cell(const Values& values, const std::string& field) {
  const auto found = values.find(field);
  if (found == values.end()) return "–";
  std::vector<double> all = found->second;
  std::ranges::sort(all);
  const double median = (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2;
  const auto text = [](double value) {
    return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
  };
  if (all.size() == 1) return text(median);
  return fmt::format("{} ({}–{})", text(median), text(all.front()), text(all.back()));
}

void print_row(const std::vector<std::string>& programs, std::map<std::string, Values>& values,
               const std::string& field, const std::string& title) {
  if (std::ranges::none_of(programs, [&](const auto& each) { return values[each].contains(field); })) return;
  fmt::print("| {} |", title);
  for (const std::string& program : programs) fmt::print(" {} |", cell(values[program], field));
  fmt::print("\n");
}

}  // namespace

void report() {
  std::vector<std::string> programs;
  std::map<std::string, Values> values;
  for (std::string line; std::getline(std::cin, line);) {
    const Json run = Json::parse(line, nullptr, false);
    if (!run.is_object()) continue;
    const std::string program = run.value("program", "");
    if (!values.contains(program)) programs.push_back(program);
    take(values[program], run);
  }
  fmt::print("| |");
  for (const std::string& program : programs) fmt::print(" {} |", program);
  fmt::print("\n|{}\n", [&] {
    std::string line;
    for (std::size_t i = 0; i <= programs.size(); ++i) line += "---|";
    return line;
  }());
  for (const Row& row : kRows) print_row(programs, values, row.field, row.title);
  std::map<std::string, int> kinds;
  for (const auto& [program, each] : values) {
    for (const auto& [field, runs] : each) kinds[field] += field.starts_with("· ") ? 1 : 0;
  }
  for (const auto& [field, times] : kinds) {
    if (times > 0) print_row(programs, values, field, field);
  }
}

}  // namespace bench
