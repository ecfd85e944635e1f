#pragma once

/// What one answer of a source says, row by row, and how rows become Samples. Pure.

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

/// A node (its namespace is empty then) or a pod. The names are those of the Rows that it was added to. Small: there
/// are a hundred thousand.
class Row {
 public:
  Row(std::string_view name, std::uint32_t ns, base::TimePoint time_in)
      : time(time_in), name_(name.data()), size_(static_cast<std::uint32_t>(name.size())), ns_(ns) {}
  std::string_view name() const { return {name_, size_}; }
  std::uint32_t ns() const { return ns_; }  ///< the number of its namespace

  base::TimePoint time;

 private:
  const char* name_;
  std::uint32_t size_;
  std::uint32_t ns_;
};

/// Values that were there and are no amounts.
struct Oddities {
  std::size_t not_finite = 0;  ///< NaN and infinite
  std::size_t negative = 0;
  std::size_t unreadable = 0;  ///< no number, no quantity
  std::size_t nameless = 0;    ///< of nobody: a label or a name is missing
  /// "3 values are negative"; nothing when there is nothing. `prefix` comes before each.
  void tell(std::string_view prefix, std::vector<std::string>& problems) const;
};

/// Rows in the order of the answer, with `width` values each; kUnknown where nothing usable was said.
struct Rows {
  explicit Rows(std::size_t width_in) : width(width_in) {}
  /// Adds a row whose values are kUnknown; returns where they begin.
  std::size_t add(std::string_view ns, std::string_view name, base::TimePoint time);

  /// Room for so many rows in all.
  void reserve(std::size_t count);
  /// Drops all but the first `count` rows.
  void truncate(std::size_t count);
  std::string_view ns_of(const Row& row) const { return names->namespaces.text(row.ns()); }

  std::size_t width;
  std::vector<Row> rows;
  std::vector<double> values;  ///< width for each row
  Oddities oddities;
  base::Duration window{};  ///< the longest that a row says it is a mean of
  struct Names {
    Texts names;
    NumberedTexts namespaces;
  };
  std::shared_ptr<Names> names = std::make_shared<Names>();  ///< whoever takes rows out needs them, too
};

/// The value itself, or kUnknown, which is counted, when it is NaN, infinite or negative.
double checked(double value, Oddities& oddities);
/// A resource.Quantity in whole units ("250m" is 0.25), through checked(). Nanocores are not rounded.
double read_quantity(std::string_view text, Oddities& oddities);
/// A number as Prometheus writes it ("1e-05", "NaN", "+Inf"), through checked().
double read_number(std::string_view text, Oddities& oddities);

/// Rows of one or more pages of the same kind, brought into order: sorted by (ns, name), each once. A row that is there
/// more than once is kUnknown, and a problem, behind `prefix`, names it.
void bring_into_order(Rows& rows, std::string_view prefix, std::vector<std::string>& problems);

/// Joins ordered rows into the columns [first, first + rows.width) of the samples, as nodes or as pods; whoever is new
/// has kUnknown in the other columns. A node's time is the oldest of its rows'.
void join_nodes(Samples& samples, Rows rows, std::size_t first);
void join_pods(Samples& samples, Rows rows, std::size_t first);

/// "a", "b" and 3 more: the first names of a list, for problems.
std::string some_names(const std::vector<std::string>& names);

/// "node-1:9100" → "node-1", "[::1]:9100" → "::1"; "::1" stays.
std::string_view without_port(std::string_view instance);

}  // namespace usage
