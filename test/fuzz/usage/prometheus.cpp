/// Any bytes as an instant or range answer of Prometheus: no crash, no negative or infinite value, limited size.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "usage/parse/prometheus.hpp"

namespace {

constexpr usage::Grid kGrid{base::TimePoint(base::seconds(1'763'726'400)), base::seconds(60), 10};

void check(const usage::GridSeries& series) {
  for (const auto& [node, values] : series) {
    if (node.empty() || values.size() != kGrid.points) std::abort();
    for (const float value : values) {
      if (value < 0) std::abort();
    }
  }
}

void check(const usage::Rows& rows) {
  if (rows.values.size() != rows.rows.size()) std::abort();
  for (const double value : rows.values) {
    if (value < 0) std::abort();
  }
}

/// The series must be adjacent and cover all numbers.
void check(const usage::NumberSeries& read) {
  std::size_t end = 0;
  for (const auto& each : read.series) {
    if (each.begin != end || each.end < each.begin) std::abort();
    end = each.end;
  }
  if (end != read.numbers.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const api::UsageOf of : {api::UsageOf::kNode, api::UsageOf::kPod}) {
    api::UsageQuery query;
    query.of = of;
    usage::Rows rows(1);
    std::string answer = text;
    (void)usage::read_vector(answer, query, rows);
    check(rows);
    std::vector<std::string> problems;
    usage::sort_and_merge(rows, "", problems);
    check(rows);
  }
  usage::GridSeries series;
  std::string answer = text;
  (void)usage::read_matrix(answer, {}, kGrid, series);
  check(series);
  answer = text;
  if (const auto read = usage::read_numbers(answer, {})) check(*read);
  answer = text;
  if (const auto count = usage::read_count(answer); count && !(*count >= 0)) std::abort();
  answer = text;
  (void)usage::api_error(answer);
  return 0;
}
