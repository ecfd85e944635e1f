#pragma once

/// Reads and writes history as CSV: single samples or days (docs/advise/requests.md). Pure; safe for any input.

#include <functional>
#include <string>
#include <string_view>

#include "advisor/history.hpp"
#include "base/result.hpp"

namespace advisor {

/// Receivers of parsed rows. Samples come in the order of the file; their texts are valid during the call only.
struct CsvTargets {
  std::function<void(const Sample&)> sample;
  std::function<void(const ContainerKey&, Day, const DayUsage&)> day;
};

/// Parses CSV; the header decides which format. Samples: time,namespace,pod,container,cpu,memory. Days:
/// day,namespace,kind,workload,container,samples,covered and any of
/// cpu_peak,cpu_mean,cpu_p95,cpu_startup_peak,memory_peak,memory_mean,throttled,oom_kills. Columns may be in any order
/// and case. Amounts are quantities ("250m", "64Mi"), "covered" is a duration, "time" is parsed by
/// parse_history_time(), an empty cell is unknown. Lines that begin with # are comments. Implausible amounts are passed
/// on unchanged, because the folds count them. Returns the number of rows. An error names its line; rows before it were
/// already passed to `targets`.
base::Result<std::size_t> read_history_csv(std::string_view text, const CsvTargets& targets);

std::string_view day_csv_header();
/// Returns one row of the days format. read_history_csv() returns equal values, except that cores are rounded to
/// thousandths.
std::string day_csv_row(const ContainerKey& key, Day day, const DayUsage& usage);

}  // namespace advisor
