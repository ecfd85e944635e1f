#pragma once

/// Unprocessed answers of usage sources.

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace usage {

/// Value of a missing figure, which is never 0.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Unit of a column's values.
enum class Unit {
  kAmount,   ///< cores, bytes…
  kPercent,  ///< percentage of the node's allocatable, 0 … 100, or more if the source reports it
};

struct Column {
  std::string resource;
  Unit unit = Unit::kAmount;
  /// Values are the mean over this time before their timestamp, as with rates. 0 for instantaneous values.
  base::Duration window{};
  /// Values may be older than their timestamp by this time, because the source timestamps the query and not the
  /// measurement.
  base::Duration lag{};
  friend bool operator==(const Column&, const Column&) = default;
};

/// Compares columns without their windows, which may differ between answers of some sources.
inline bool have_same_units(const std::vector<Column>& some, const std::vector<Column>& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(), [](const Column& one, const Column& other) {
    return one.resource == other.resource && one.unit == other.unit;
  });
}

/// One answer of a source. `values` are parallel to the columns of their kind, kUnknown for invalid ones (absent, NaN,
/// infinite, negative). Each node and pod occurs once. Sorted by name.
struct Samples {
  struct Node {
    std::string name;
    base::TimePoint time{};  ///< time of the measurement, by the source's clock
    std::vector<double> values;
  };
  struct Pod {
    std::string ns;
    std::string name;
  };

  std::vector<Column> columns;  ///< columns of nodes
  std::vector<Node> nodes;
  std::vector<Column> pod_columns;  ///< empty if the source only has nodes
  std::vector<Pod> pods;
  std::vector<double> pod_values;     ///< pod_columns.size() values for each of `pods`
  std::vector<std::string> problems;  ///< human-readable list of unusable parts: "query cpu: 3 samples are NaN"
};

/// History of one node in one column, with a fixed step and kUnknown for gaps.
struct Series {
  std::string node;
  std::string resource;
  base::TimePoint start{};
  base::Duration step{};
  std::vector<float> values;
};

}  // namespace usage
