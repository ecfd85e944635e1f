#pragma once

/// History as CSV: single samples, or days (docs/advise/requests.md). Pure; survives any input.

#include <functional>
#include <string>
#include <string_view>

#include "advisor/history.hpp"
#include "base/result.hpp"

namespace advising {

/// Where rows go. Samples of pods come in the file's order; their texts live during the call.
struct CsvTargets {
  std::function<void(const Sample&)> sample;
  std::function<void(const ContainerKey&, Day, const DayUsage&)> day;
};

/// The header says which it is. Samples: time,namespace,pod,container,cpu,memory. Days: day,namespace,kind,workload,
/// container,samples,covered and any of cpu_peak,cpu_mean,cpu_p95,cpu_startup_peak,memory_peak,memory_mean,throttled,
/// oom_kills. Columns come in any order and case; amounts are quantities ("250m", "64Mi"), "covered" is a duration,
/// "time" what parse_history_time() reads, an empty cell is not known. Lines that begin with # are comments. An error
/// names the line; rows before it were told already. Amounts that cannot be true are told as they are: whoever folds
/// them counts them. Returns how many rows there were.
base::Result<std::size_t> read_history_csv(std::string_view text, const CsvTargets& targets);

/// The header of days.
std::string_view day_csv_header();
/// One row below it. Reads back equal, but for the precision of a thousandth of a core.
std::string day_csv_row(const ContainerKey& key, Day day, const DayUsage& usage);

}  // namespace advising
