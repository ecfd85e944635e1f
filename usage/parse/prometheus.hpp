#pragma once

/// Answers of Prometheus' HTTP API (/api/v1/query and /api/v1/query_range), also of Thanos, Mimir and VictoriaMetrics.
/// Pure; survives any input.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/policy/usage_source.hpp"
#include "base/result.hpp"
#include "usage/parse/plain_vector.hpp"
#include "usage/parse/rows.hpp"

namespace usage {

/// Prometheus refuses range queries with more points a series.
inline constexpr std::size_t kMaxPoints = 11'000;

/// A vector with more series than that is surely not one for each node or pod: an aggregation is missing.
inline constexpr std::size_t kMaxNodeSeries = 20'000;
inline constexpr std::size_t kMaxPodSeries = 400'000;

/// A history in memory: 64 MiB.
inline constexpr std::size_t kMaxGridValues = std::size_t{16} << 20;

/// What an answer said beside its values.
struct PrometheusNotes {
  std::vector<std::string> warnings;  ///< of the server: the first three, shortened
};

/// The rows (width 1) of an instant vector, times as evaluated. Node names as the labels have them: `node_label`, else
/// node, else instance; the port of an instance is cut off. kFraction becomes percent. Errors: `status: error` with its
/// type (bad_data, execution: kInvalid; timeout, canceled, internal, unavailable: kUnavailable), scalar, string,
/// matrix, too many series. No series at all is no error: no rows.
base::Result<PrometheusNotes> read_vector(std::string& answer, const api::UsageQuery& query, Rows& rows);

/// Even steps that the points of a range query fall on.
struct Grid {
  base::TimePoint start{};
  base::Duration step{};
  std::size_t points = 0;
};
/// By node: grid.points values, kUnknown where nothing was said; a point that is said twice is kUnknown.
using GridSeries = std::map<std::string, std::vector<float>, std::less<>>;

/// The same for a matrix of nodes, added to `series` (of which every one has grid.points values). Points off the grid
/// are ignored. An error, too: more than kMaxGridValues.
base::Result<PrometheusNotes> read_matrix(std::string& answer, const api::UsageQuery& query, const Grid& grid,
                                          GridSeries& series);

/// Whole numbers by series, in the order of time; kBelowAll and kAboveAll for the infinite ones. NaN is left out.
struct NumberSeries {
  struct Series {
    std::string name;
    std::size_t begin, end;  ///< in `numbers`
  };
  std::vector<Series> series;  ///< in the order of the answer; those without a name are left out
  std::vector<std::int32_t> numbers;
  std::size_t not_whole = 0;  ///< values that are no whole numbers, and left out
};
/// The same for a matrix whose values are whole numbers, by the label that `query` names for nodes.
base::Result<NumberSeries> read_numbers(std::string& answer, const api::UsageQuery& query);

/// Result of an instant query whose only series has no labels that matter: count(…). No series: 0.
base::Result<double> read_count(std::string& answer);

/// The error that an answer outside 2xx tells in the API's own words; nullopt: it is none of the API.
std::optional<base::Error> told_error(std::string& answer);

}  // namespace usage
