#include "advisor/parse/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

#include "advisor/parse/times.hpp"
#include "advisor/workloads.hpp"

namespace advisor {
namespace {

constexpr std::size_t kMaxCells = 64;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\"";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Splits at commas and strips quotes. Quoted commas are not supported, because Kubernetes names and amounts contain
/// none.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const auto comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos || cells.size() > kMaxCells) return cells;
    line.remove_prefix(comma + 1);
  }
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

/// A row with access by column name.
class Row {
 public:
  Row(const std::vector<std::string>& header, const std::vector<std::string_view>& cells)
      : header_(header), cells_(cells) {}

  std::string_view text(std::string_view column) const {
    const auto at = std::ranges::find(header_, column);
    return at == header_.end() ? std::string_view() : cells_[static_cast<std::size_t>(at - header_.begin())];
  }
  /// Parses a quantity or plain number, including negative numbers and "NaN". Returns kUnknown for an empty cell; sets
  /// `wrong` for anything else.
  double amount(std::string_view column, std::string& wrong) const {
    const std::string_view cell = text(column);
    if (cell.empty()) return kUnknown;
    if (const auto quantity = number_of_text(cell)) return *quantity;
    double number = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
    if (error == std::errc{} && end == cell.data() + cell.size()) return number;
    wrong = fmt::format("{}: \"{}\" is not a quantity such as 250m or 64Mi", column, cell.substr(0, 40));
    return kUnknown;
  }
  std::uint64_t count(std::string_view column, std::string& wrong) const {
    const std::string_view cell = text(column);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
    const bool is_sound = cell.empty() || (error == std::errc{} && end == cell.data() + cell.size());
    if (!is_sound) wrong = fmt::format("{}: \"{}\" is not a valid count", column, cell.substr(0, 40));
    return is_sound ? number : 0;
  }

 private:
  const std::vector<std::string>& header_;
  const std::vector<std::string_view>& cells_;
};

constexpr std::array<std::string_view, 6> kSampleColumns = {"time", "namespace", "pod", "container", "cpu", "memory"};
constexpr std::array<std::string_view, 15> kDayColumns = {
    "day",         "namespace", "kind",     "workload", "container",        "samples",
    "covered",     "cpu_peak",  "cpu_mean", "cpu_p95",  "cpu_startup_peak", "memory_peak",
    "memory_mean", "throttled", "oom_kills"};
constexpr std::size_t kNeededOfDays = 7;

enum class Kind { kNone, kSamples, kDays };

template <typename Columns>
base::Status check_header(const std::vector<std::string>& header, const Columns& columns, std::size_t needed) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (std::ranges::find(columns, header[i]) == columns.end())
      return base::invalid(fmt::format("unknown column \"{}\"", header[i].substr(0, 40)));
    if (std::ranges::count(header, header[i]) > 1)
      return base::invalid(fmt::format("column {} occurs twice", header[i]));
  }
  for (std::size_t i = 0; i < needed; ++i) {
    if (std::ranges::find(header, columns[i]) == header.end())
      return base::invalid(fmt::format("column {} is missing", columns[i]));
  }
  return base::Done{};
}

base::Result<Kind> read_header(const std::vector<std::string>& header) {
  const bool has_samples = std::ranges::find(header, "time") != header.end();
  const bool has_days = std::ranges::find(header, "day") != header.end();
  if (!has_samples && !has_days) {
    const bool has_other_mark = header.size() == 1 && header.front().find_first_of(";\t|") != std::string::npos;
    return base::invalid(
        fmt::format("expected a header: time,namespace,pod,container,cpu,memory or day,namespace,kind,…{}",
                    has_other_mark ? "; only commas separate cells" : ""));
  }
  auto sound = has_samples ? check_header(header, kSampleColumns, 4) : check_header(header, kDayColumns, kNeededOfDays);
  if (!sound) return std::move(sound).error();
  return has_samples ? Kind::kSamples : Kind::kDays;
}

base::Status read_sample(const Row& row, const CsvTargets& targets) {
  std::string wrong;
  const auto time = parse_history_time(row.text("time"));
  if (!time) return base::invalid("time: must be an RFC 3339 time such as 2026-11-21T12:00:00Z, with an offset or Z");
  const Sample sample{*time,
                      row.text("namespace"),
                      row.text("pod"),
                      row.text("container"),
                      row.amount("cpu", wrong),
                      row.amount("memory", wrong)};
  if (!wrong.empty()) return base::invalid(std::move(wrong));
  if (sample.ns.empty() || sample.pod.empty() || sample.container.empty()) return base::invalid("a name is missing");
  targets.sample(sample);
  return base::Done{};
}

base::Status read_day(const Row& row, const CsvTargets& targets) {
  std::string wrong;
  const auto day = parse_day(row.text("day"));
  if (!day) return base::invalid("day: must be a date such as 2026-11-21");
  const ContainerKey key{
      {std::string(row.text("namespace")), std::string(row.text("kind")), std::string(row.text("workload"))},
      std::string(row.text("container"))};
  const auto covered = base::parse_duration(row.text("covered"));
  if (!covered || *covered < base::Duration(0) || *covered > std::chrono::hours(24))
    return base::invalid("covered: must be a duration of at most 24h");
  DayUsage usage;
  usage.covered = *covered;
  usage.samples = row.count("samples", wrong);
  usage.cpu_peak = row.amount("cpu_peak", wrong);
  usage.cpu_mean = row.amount("cpu_mean", wrong);
  usage.cpu_p95 = row.amount("cpu_p95", wrong);
  usage.cpu_startup_peak = row.amount("cpu_startup_peak", wrong);
  usage.memory_peak = row.amount("memory_peak", wrong);
  usage.memory_mean = row.amount("memory_mean", wrong);
  usage.throttled = row.amount("throttled", wrong);
  usage.oom_kills = static_cast<std::uint32_t>(std::min<std::uint64_t>(row.count("oom_kills", wrong), 1'000'000));
  if (!wrong.empty()) return base::invalid(std::move(wrong));
  if (key.workload.ns.empty() || key.workload.kind.empty() || key.workload.name.empty() || key.container.empty())
    return base::invalid("a name is missing");
  targets.day(key, *day, usage);
  return base::Done{};
}

std::string cell(double value) {
  if (std::isnan(value)) return "";
  // Written as a plain number for from_chars, because Quantity would round it.
  return value >= 1e6 ? fmt::format("{:.0f}", value) : fmt::format("{:.3f}", std::ceil(value * 1000) / 1000);
}

}  // namespace

base::Result<std::size_t> read_history_csv(std::string_view text, const CsvTargets& targets) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  Kind kind = Kind::kNone;
  std::vector<std::string> header;
  std::size_t rows = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (trimmed(line).empty() || trimmed(line).front() == '#') continue;
    const auto cells = cells_of(line);
    const auto failed = [&](base::Error error) { return std::move(error).during(fmt::format("line {}", number)); };
    if (kind == Kind::kNone) {
      for (const std::string_view name : cells) header.push_back(in_lower_case(name));
      const auto found = read_header(header);
      if (!found) return failed(found.error());
      kind = *found;
      continue;
    }
    if (cells.size() != header.size())
      return failed(base::invalid(fmt::format("the row has {} cells, its header {}", cells.size(), header.size())));
    const Row row(header, cells);
    const auto read = kind == Kind::kSamples ? read_sample(row, targets) : read_day(row, targets);
    if (!read) return failed(read.error());
    ++rows;
  }
  return rows;
}

std::string_view day_csv_header() {
  return "day,namespace,kind,workload,container,samples,covered,cpu_peak,cpu_mean,cpu_p95,cpu_startup_peak,"
         "memory_peak,memory_mean,throttled,oom_kills\n";
}

std::string day_csv_row(const ContainerKey& key, Day day, const DayUsage& usage) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", text_of(day), key.workload.ns, key.workload.kind,
                     key.workload.name, key.container, usage.samples, base::format_duration(usage.covered),
                     cell(usage.cpu_peak), cell(usage.cpu_mean), cell(usage.cpu_p95), cell(usage.cpu_startup_peak),
                     cell(usage.memory_peak), cell(usage.memory_mean), cell(usage.throttled), usage.oom_kills);
}

}  // namespace advisor
