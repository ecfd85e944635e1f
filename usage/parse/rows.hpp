#pragma once

/// Rows of one answer of a source, and their conversion to Samples. Pure.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "usage/parse/texts.hpp"
#include "usage/samples.hpp"

namespace usage {

/// A pod, or a node if the namespace is empty. Its name refers to the Rows that it was added to. Kept small, because
/// there may be a hundred thousand rows.
class Row {
 public:
  Row(std::string_view name, std::uint32_t ns, base::TimePoint time_in)
      : time(time_in), name_(name.data()), size_(static_cast<std::uint32_t>(name.size())), ns_(ns) {}
  std::string_view name() const { return {name_, size_}; }
  std::uint32_t ns() const { return ns_; }  ///< number of its namespace

  base::TimePoint time;

 private:
  const char* name_;
  std::uint32_t size_;
  std::uint32_t ns_;
};

/// Counts of values that are not valid amounts.
struct InvalidCounts {
  std::size_t not_finite = 0;  ///< NaN and infinite
  std::size_t negative = 0;
  std::size_t unreadable = 0;  ///< not a number or quantity
  std::size_t nameless = 0;    ///< without a required label or name
  /// Appends texts such as "3 values are negative" for the counts above 0, each with `prefix`.
  void tell(std::string_view prefix, std::vector<std::string>& problems) const;
};

/// Rows in the order of the answer, with `width` values each, kUnknown without a valid value.
struct Rows {
  explicit Rows(std::size_t width_in) : width(width_in) {}
  /// Adds a row with kUnknown values. Returns the index of its first value.
  std::size_t add(std::string_view ns, std::string_view name, base::TimePoint time);

  /// Reserves memory for `count` rows in total.
  void reserve(std::size_t count);
  /// Drops all but the first `count` rows.
  void truncate(std::size_t count);
  std::string_view ns_of(const Row& row) const { return names->namespaces.text(row.ns()); }

  std::size_t width;
  std::vector<Row> rows;
  std::vector<double> values;  ///< `width` values for each row
  InvalidCounts oddities;
  base::Duration window{};  ///< longest averaging window of a row
  struct Names {
    Texts names;
    NumberedTexts namespaces;
  };
  std::shared_ptr<Names> names = std::make_shared<Names>();  ///< rows refer to it: copy it with them
};

/// Returns the value. Counts NaN, infinite and negative values and returns kUnknown for them.
double checked(double value, InvalidCounts& oddities);
/// Parses a resource.Quantity in whole units ("250m" is 0.25) and applies checked(). Does not round nanocores.
double read_quantity(std::string_view text, InvalidCounts& oddities);
/// Parses a number as written by Prometheus ("1e-05", "NaN", "+Inf") and applies checked().
double read_number(std::string_view text, InvalidCounts& oddities);

/// Sorts the rows of one or more pages of the same kind by (ns, name) and merges duplicates. A merged row is kUnknown,
/// and a problem with `prefix` names it.
void sort_and_merge(Rows& rows, std::string_view prefix, std::vector<std::string>& problems);

/// Joins ordered rows into the columns [first, first + rows.width) of the samples, as nodes or as pods. New entries
/// have kUnknown in the other columns. A node's time is the oldest of its rows' times.
void join_nodes(Samples& samples, Rows rows, std::size_t first);
void join_pods(Samples& samples, Rows rows, std::size_t first);

/// Reports the invalid values of complete rows, and joins them as the first columns of nodes or of pods. `prefix`
/// begins the problems.
void add_nodes(Samples& samples, Rows rows, std::string_view prefix);
void add_pods(Samples& samples, Rows rows, std::string_view prefix);

/// Returns the first names of a list, such as: "a", "b" and 3 more. For problems.
std::string some_names(const std::vector<std::string>& names);

/// "node-1:9100" → "node-1", "[::1]:9100" → "::1"; "::1" stays.
std::string_view without_port(std::string_view instance);

}  // namespace usage
