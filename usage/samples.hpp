#pragma once

/// What usage sources say, before anything is made of it.

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace usage {

/// No figure. Never 0.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// What the values of a column are.
enum class Unit {
  kAmount,   ///< cores, bytes…
  kPercent,  ///< of the node's allocatable, 0 … 100 and, where a source says so, above
};

struct Column {
  std::string resource;
  Unit unit = Unit::kAmount;
  /// A value is the mean over so long before its time, as rates are; 0: it is as it was at its time.
  base::Duration window{};
  /// A value may be that much older than its time: the source dates what it was asked, not what it measured.
  base::Duration lag{};
  friend bool operator==(const Column&, const Column&) = default;
};

/// Whatever the windows: those of some sources differ from answer to answer.
inline bool measure_the_same(const std::vector<Column>& some, const std::vector<Column>& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(), [](const Column& one, const Column& other) {
    return one.resource == other.resource && one.unit == other.unit;
  });
}

/// One answer of a source. `values` run parallel to the columns of its kind; kUnknown where it says nothing usable
/// (absent, NaN, infinite, negative). Every node and every pod is there once; sorted by name.
struct Samples {
  struct Node {
    std::string name;
    base::TimePoint time{};  ///< when it was measured, by the source's clock
    std::vector<double> values;
  };
  struct Pod {
    std::string ns;
    std::string name;
  };

  std::vector<Column> columns;  ///< of nodes
  std::vector<Node> nodes;
  std::vector<Column> pod_columns;  ///< none: the source knows nodes only
  std::vector<Pod> pods;
  std::vector<double> pod_values;     ///< pod_columns.size() for each of `pods`
  std::vector<std::string> problems;  ///< what of it could not be used, for people: "query cpu: 3 samples are NaN"
};

/// One node's history in one column, in even steps; kUnknown in gaps.
struct Series {
  std::string node;
  std::string resource;
  base::TimePoint start{};
  base::Duration step{};
  std::vector<float> values;
};

}  // namespace usage
