#pragma once

/// Reads answers of Prometheus' HTTP API (/api/v1/query and /api/v1/query_range), also from Thanos, Mimir and
/// VictoriaMetrics. Pure; tolerates any input.

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

/// Prometheus refuses range queries with more points per series.
inline constexpr std::size_t kMaxPoints = 11'000;

/// Maximum number of series of a vector. More series indicate a missing aggregation by node or pod.
inline constexpr std::size_t kMaxNodeSeries = 20'000;
inline constexpr std::size_t kMaxPodSeries = 400'000;

/// Maximum size of a history: 64 MiB.
inline constexpr std::size_t kMaxGridValues = std::size_t{16} << 20;

/// Content of an answer other than its values.
struct PrometheusNotes {
  std::vector<std::string> warnings;  ///< first three warnings of the server, shortened
};

/// Adds the rows (width 1) of an instant vector, with the evaluation time. A node's name is the label `node_label`,
/// else node, else instance, without the port of an instance. Converts kFraction to percent. Errors: `status: error` by
/// its type (bad_data, execution: kInvalid; timeout, canceled, internal, unavailable: kUnavailable), a scalar, string
/// or matrix, too many series. An answer without series is valid and gives no rows.
base::Result<PrometheusNotes> read_vector(std::string& answer, const api::UsageQuery& query, Rows& rows);

/// Fixed steps of a range query's points.
struct Grid {
  base::TimePoint start{};
  base::Duration step{};
  std::size_t points = 0;
};
/// grid.points values per node, kUnknown if missing. A point that occurs twice is kUnknown.
using GridSeries = std::map<std::string, std::vector<float>, std::less<>>;

/// Adds a matrix of nodes to `series`, in which every entry has grid.points values. Ignores points off the grid.
/// Errors as for read_vector(), and for more than kMaxGridValues.
base::Result<PrometheusNotes> read_matrix(std::string& answer, const api::UsageQuery& query, const Grid& grid,
                                          GridSeries& series);

/// Whole numbers by series, ordered by time. kBelowAll and kAboveAll represent infinity. NaN is omitted.
struct NumberSeries {
  struct Series {
    std::string name;
    std::size_t begin, end;  ///< range in `numbers`
  };
  std::vector<Series> series;  ///< in the order of the answer, without series that have no name
  std::vector<std::int32_t> numbers;
  std::size_t not_whole = 0;  ///< number of omitted values that are not whole
};
/// Reads a matrix of whole numbers. The label that `query` sets for nodes names the series.
base::Result<NumberSeries> read_numbers(std::string& answer, const api::UsageQuery& query);

/// Returns the result of an instant query with at most one series and no relevant labels, such as count(…). Returns 0
/// without series.
base::Result<double> read_count(std::string& answer);

/// Returns the API's own error from an answer outside 2xx, nullopt if the answer is not the API's.
std::optional<base::Error> api_error(std::string& answer);

}  // namespace usage
