#include "usage/parse/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "api/meta/quantity.hpp"
#include "base/text.hpp"

namespace usage {
namespace {

constexpr std::size_t kNamesShown = 3;
constexpr std::size_t kMaxName = 253;
constexpr std::size_t kAhead = 8;  ///< number of steps by which scattered memory is prefetched

struct Suffix {
  std::string_view text;
  double factor;
};
/// Suffixes of measured usage. Quantities with other suffixes take the slow path.
constexpr std::array kSuffixes = {Suffix{"n", 1e-9}, Suffix{"Ki", 1024.0},    Suffix{"m", 1e-3},    Suffix{"", 1.0},
                                  Suffix{"u", 1e-6}, Suffix{"Mi", 1048576.0}, Suffix{"Gi", 0x1p30}, Suffix{"k", 1e3},
                                  Suffix{"M", 1e6},  Suffix{"G", 1e9}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Parses "1234n": at most 18 digits and one of kSuffixes.
std::optional<double> read_plain_quantity(std::string_view text) {
  constexpr std::size_t kMaxDigits = 18;
  std::int64_t digits = 0;
  std::size_t end = 0;
  for (; end < std::min(text.size(), kMaxDigits) && is_digit(text[end]); ++end)
    digits = digits * 10 + (text[end] - '0');
  if (end == 0) return std::nullopt;
  const std::string_view rest = text.substr(end);
  for (const Suffix& suffix : kSuffixes) {
    if (rest == suffix.text) return static_cast<double>(digits) * suffix.factor;
  }
  return std::nullopt;
}

/// Parses "12.0625": at most 15 digits with an optional point. Numerator and denominator are then exact, so the
/// quotient has only the one rounding that any parser has.
std::optional<double> read_plain_number(std::string_view text) {
  constexpr std::size_t kExactDigits = 15;
  constexpr std::array kPowers = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  if (text.size() > kExactDigits + 1) return std::nullopt;
  std::int64_t digits = 0;
  std::size_t point = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_digit(text[i])) {
      digits = digits * 10 + (text[i] - '0');
    } else if (text[i] == '.' && point == text.size()) {
      point = i;
    } else {
      return std::nullopt;
    }
  }
  const bool has_point = point < text.size();
  if (point == 0 || point + 1 == text.size() || (!has_point && text.size() > kExactDigits)) return std::nullopt;
  return static_cast<double>(digits) / kPowers[has_point ? text.size() - point - 1 : 0];
}

std::string shown(const Rows& rows, const Row& row) {
  const std::string_view ns = rows.ns_of(row);
  const std::string name = ns.empty() ? std::string(row.name()) : fmt::format("{}/{}", ns, row.name());
  return base::truncate_utf8(name, kMaxName);
}

bool is_same(const Row& a, const Row& b) { return a.ns() == b.ns() && a.name() == b.name(); }

bool is_ordered(const Rows& rows) {
  for (std::size_t i = 1; i < rows.rows.size(); ++i) {
    const Row& a = rows.rows[i - 1];
    const Row& b = rows.rows[i];
    if (a.ns() == b.ns() ? a.name() >= b.name() : rows.ns_of(a) > rows.ns_of(b)) return false;
  }
  return true;
}

/// Returns the eight bytes after the first `skip` as a number that compares like the text. Short texts are padded with
/// zeros.
std::uint64_t leading_bytes(std::string_view text, std::size_t skip) {
  std::uint64_t key = 0;
  if (text.size() >= skip + sizeof(key)) {
    std::memcpy(&key, text.data() + skip, sizeof(key));
    return std::endian::native == std::endian::little ? __builtin_bswap64(key) : key;
  }
  for (std::size_t i = 0; i < sizeof(key); ++i)
    key = key << 8 | (skip + i < text.size() ? static_cast<unsigned char>(text[skip + i]) : 0U);
  return key;
}

/// Prefetches two cache lines, which names rarely exceed.
void fetch(std::string_view text) {
  __builtin_prefetch(text.data());
  __builtin_prefetch(text.data() + text.size());
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// Rows of one namespace.
struct Group {
  std::string_view ns;
  std::string_view sample;  ///< one of the names
  std::size_t prefix = 0;   ///< length of the names' common prefix
  std::uint32_t size = 0;
  std::uint32_t next = 0;  ///< position of the next row
};

/// Indexed by the namespace's number.
std::vector<Group> groups_of(const Rows& rows) {
  std::vector<Group> groups(rows.names->namespaces.size());
  for (const Row& row : rows.rows) {
    Group& group = groups[row.ns()];
    if (group.size++ == 0) {
      group = {rows.ns_of(row), row.name(), row.name().size(), 1, 0};
    } else if (group.prefix > 0 && !row.name().starts_with(group.sample.substr(0, group.prefix))) {
      group.prefix = common_prefix(group.sample.substr(0, group.prefix), row.name());
    }
  }
  std::vector<Group*> sorted;
  for (Group& group : groups) sorted.push_back(&group);
  std::ranges::sort(sorted, {}, &Group::ns);
  std::uint32_t next = 0;
  for (Group* const group : sorted) group->next = std::exchange(next, next + group->size);
  return groups;
}

/// A row with the first bytes of its name after the common prefix of its namespace.
struct Entry {
  std::uint64_t name;
  std::uint32_t row;
};

struct Order {
  std::vector<Entry> entries;
  bool has_duplicates = false;
};

/// Returns the rows' order by (ns, name), stable for equal rows. Sorts by namespace first, then compares names by
/// numbers in contiguous memory, which is faster for a hundred thousand unsorted names than comparing scattered texts.
Order order_of(const Rows& rows) {
  std::vector<Group> groups = groups_of(rows);
  Order order{std::vector<Entry>(rows.rows.size())};
  for (std::uint32_t i = 0; i < rows.rows.size(); ++i) {
    Group& group = groups[rows.rows[i].ns()];
    order.entries[group.next++] = {leading_bytes(rows.rows[i].name(), group.prefix), i};
  }
  const auto is_first = [&](const Entry& a, const Entry& b) {
    if (a.name != b.name) return a.name < b.name;
    const int compared = rows.rows[a.row].name().compare(rows.rows[b.row].name());
    return compared == 0 ? a.row < b.row : compared < 0;
  };
  const auto is_same_name = [&](const Entry& a, const Entry& b) {
    return a.name == b.name && rows.rows[a.row].name() == rows.rows[b.row].name();
  };
  for (const Group& group : groups) {
    const auto end = order.entries.begin() + group.next;
    std::sort(end - group.size, end, is_first);
    order.has_duplicates |= std::adjacent_find(end - group.size, end, is_same_name) != end;
  }
  return order;
}

Rows in_order(const Rows& rows, const std::vector<Entry>& entries) {
  Rows result(rows.width);
  result.oddities = rows.oddities;
  result.window = rows.window;
  result.names = rows.names;
  result.reserve(rows.rows.size());
  result.values.resize(rows.values.size());
  double* values = result.values.data();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i + kAhead < entries.size()) __builtin_prefetch(&rows.rows[entries[i + kAhead].row]);
    result.rows.push_back(rows.rows[entries[i].row]);
    values = std::copy_n(rows.values.data() + entries[i].row * rows.width, rows.width, values);
  }
  return result;
}

/// Merges equal neighbours into one row without values. Returns their names.
std::vector<std::string> fold_duplicates(Rows& rows) {
  std::vector<std::string> duplicates;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    if (kept > 0 && is_same(rows.rows[kept - 1], rows.rows[i])) {
      std::fill_n(rows.values.begin() + static_cast<std::ptrdiff_t>((kept - 1) * rows.width), rows.width, kUnknown);
      if (const std::string name = shown(rows, rows.rows[i]); duplicates.empty() || duplicates.back() != name)
        duplicates.push_back(name);
      continue;
    }
    if (kept != i) {
      rows.rows[kept] = rows.rows[i];
      std::copy_n(rows.values.begin() + static_cast<std::ptrdiff_t>(i * rows.width), rows.width,
                  rows.values.begin() + static_cast<std::ptrdiff_t>(kept * rows.width));
    }
    ++kept;
  }
  rows.truncate(kept);
  return duplicates;
}

/// Merges ordered samples and rows with take_left(i), take_right(j) and take_both(i, j).
template <typename Left, typename TakeLeft, typename TakeRight, typename TakeBoth>
void merge(const Left& left, const Rows& rows, TakeLeft take_left, TakeRight take_right, TakeBoth take_both) {
  std::size_t i = 0;
  std::size_t j = 0;
  const auto left_key = [&] { return std::pair(std::string_view(left[i].ns), std::string_view(left[i].name)); };
  const auto right_key = [&] { return std::pair(rows.ns_of(rows.rows[j]), rows.rows[j].name()); };
  const std::size_t count = rows.rows.size();
  while (i < left.size() || j < count) {
    if (j == count || (i < left.size() && left_key() < right_key())) {
      take_left(i++);
    } else if (i == left.size() || right_key() < left_key()) {
      take_right(j++);
    } else {
      take_both(i++, j++);
    }
  }
}

/// A node, with the member names of a pod.
struct NodeKey {
  std::string_view ns;
  std::string_view name;
};

void put(const Rows& rows, std::size_t row, double* target) {
  std::copy_n(rows.values.begin() + static_cast<std::ptrdiff_t>(row * rows.width), rows.width, target);
}

Samples::Pod pod_of(const Rows& rows, const Row& row) {
  return {std::string(rows.ns_of(row)), std::string(row.name())};
}

/// join_pods() for samples without pods.
void take_pods(Samples& samples, Rows rows) {
  samples.pods.reserve(rows.rows.size());
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    if (i + kAhead < rows.rows.size()) fetch(rows.rows[i + kAhead].name());
    samples.pods.push_back(pod_of(rows, rows.rows[i]));
  }
  samples.pod_values = std::move(rows.values);
}

}  // namespace

void InvalidCounts::tell(std::string_view prefix, std::vector<std::string>& problems) const {
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count == 1) problems.push_back(fmt::format("{}1 value is {}", prefix, what));
    if (count > 1) problems.push_back(fmt::format("{}{} values are {}", prefix, count, what));
  };
  add(not_finite, "NaN or infinite");
  add(negative, "negative");
  add(unreadable, "not a number");
  add(nameless, "without a complete name: a label or a name is missing");
}

std::size_t Rows::add(std::string_view ns, std::string_view name, base::TimePoint time) {
  rows.emplace_back(names->names.keep(name), names->namespaces.number_of(ns), time);
  for (std::size_t i = 0; i < width; ++i) values.push_back(kUnknown);
  return values.size() - width;
}

void Rows::truncate(std::size_t count) {
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end());
  values.resize(count * width);
}

void Rows::reserve(std::size_t count) {
  rows.reserve(count);
  values.reserve(count * width);
}

double checked(double value, InvalidCounts& oddities) {
  if (!std::isfinite(value)) return ++oddities.not_finite, kUnknown;
  if (value < 0) return ++oddities.negative, kUnknown;
  return value;
}

double read_quantity(std::string_view text, InvalidCounts& oddities) {
  if (const auto plain = read_plain_quantity(text)) return checked(*plain, oddities);
  const auto quantity = api::Quantity::parse(text);
  if (!quantity) return ++oddities.unreadable, kUnknown;
  return checked(static_cast<double>(quantity->milli()) / 1000.0, oddities);
}

double read_number(std::string_view text, InvalidCounts& oddities) {
  if (const auto plain = read_plain_number(text)) return *plain;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Out of range means 1e999, which would be infinite, or 1e-999. Both count as unreadable.
  if (error != std::errc() || end != text.data() + text.size()) return ++oddities.unreadable, kUnknown;
  return checked(value, oddities);
}

std::string some_names(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    if (i > 0) text += ", ";
    text += names[i];
  }
  if (names.size() > kNamesShown) text += fmt::format(" and {} more", names.size() - kNamesShown);
  return text;
}

void sort_and_merge(Rows& rows, std::string_view prefix, std::vector<std::string>& problems) {
  if (is_ordered(rows)) return;
  const Order order = order_of(rows);
  rows = in_order(rows, order.entries);
  if (!order.has_duplicates) return;
  problems.push_back(fmt::format("{}more than one value for {}", prefix, some_names(fold_duplicates(rows))));
}

void join_nodes(Samples& samples, Rows rows, std::size_t first) {
  std::vector<NodeKey> known;
  known.reserve(samples.nodes.size());
  for (const Samples::Node& node : samples.nodes) known.push_back({{}, node.name});
  std::vector<Samples::Node> joined;
  joined.reserve(std::max(known.size(), rows.rows.size()));
  const std::size_t width = samples.columns.size();
  merge(
      known, rows, [&](std::size_t i) { joined.push_back(std::move(samples.nodes[i])); },
      [&](std::size_t j) {
        joined.push_back({std::string(rows.rows[j].name()), rows.rows[j].time, std::vector<double>(width, kUnknown)});
        put(rows, j, joined.back().values.data() + first);
      },
      [&](std::size_t i, std::size_t j) {
        joined.push_back(std::move(samples.nodes[i]));
        joined.back().time = std::min(joined.back().time, rows.rows[j].time);
        put(rows, j, joined.back().values.data() + first);
      });
  samples.nodes = std::move(joined);
}

void join_pods(Samples& samples, Rows rows, std::size_t first) {
  const std::size_t width = samples.pod_columns.size();
  if (samples.pods.empty() && rows.width == width) return take_pods(samples, std::move(rows));
  std::vector<Samples::Pod> joined;
  std::vector<double> values;
  joined.reserve(std::max(samples.pods.size(), rows.rows.size()));
  values.reserve(joined.capacity() * width);
  const auto keep = [&](std::size_t i) {
    joined.push_back(std::move(samples.pods[i]));
    const auto from = samples.pod_values.begin() + static_cast<std::ptrdiff_t>(i * width);
    values.insert(values.end(), from, from + static_cast<std::ptrdiff_t>(width));
  };
  const auto fill = [&](std::size_t j) { put(rows, j, values.data() + values.size() - width + first); };
  merge(
      samples.pods, rows, keep,
      [&](std::size_t j) {
        joined.push_back(pod_of(rows, rows.rows[j]));
        values.insert(values.end(), width, kUnknown);
        fill(j);
      },
      [&](std::size_t i, std::size_t j) {
        keep(i);
        fill(j);
      });
  samples.pods = std::move(joined);
  samples.pod_values = std::move(values);
}

void add_nodes(Samples& samples, Rows rows, std::string_view prefix) {
  rows.oddities.tell(prefix, samples.problems);
  sort_and_merge(rows, prefix, samples.problems);
  join_nodes(samples, std::move(rows), 0);
}

void add_pods(Samples& samples, Rows rows, std::string_view prefix) {
  rows.oddities.tell(prefix, samples.problems);
  sort_and_merge(rows, prefix, samples.problems);
  join_pods(samples, std::move(rows), 0);
}

std::string_view without_port(std::string_view instance) {
  if (instance.starts_with('[')) return instance.substr(1, instance.find(']') - 1);
  const auto colon = instance.find(':');
  if (colon == std::string_view::npos || instance.find(':', colon + 1) != std::string_view::npos) return instance;
  return instance.substr(0, colon);
}

}  // namespace usage
