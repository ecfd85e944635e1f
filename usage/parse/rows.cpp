#include "usage/parse/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "api/meta/quantity.hpp"
#include "base/text.hpp"

namespace usage {
namespace {

constexpr std::size_t kNamesShown = 3;
constexpr std::size_t kLongestName = 253;

struct Suffix {
  std::string_view text;
  double factor;
};
/// Those that measured usage is written with; any other quantity takes the long way.
constexpr std::array kSuffixes = {Suffix{"n", 1e-9}, Suffix{"Ki", 1024.0},    Suffix{"m", 1e-3},    Suffix{"", 1.0},
                                  Suffix{"u", 1e-6}, Suffix{"Mi", 1048576.0}, Suffix{"Gi", 0x1p30}, Suffix{"k", 1e3},
                                  Suffix{"M", 1e6},  Suffix{"G", 1e9}};

/// "1234n": at most 18 digits and one of these suffixes.
std::optional<double> read_plain_quantity(std::string_view text) {
  std::int64_t digits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + std::min<std::size_t>(text.size(), 18), digits);
  if (error != std::errc()) return std::nullopt;
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Suffix& suffix : kSuffixes) {
    if (rest == suffix.text) return static_cast<double>(digits) * suffix.factor;
  }
  return std::nullopt;
}

auto key_of(const Row& row) { return std::tie(row.ns, row.name); }

std::string shown(const Row& row) {
  const std::string name = row.ns.empty() ? row.name : row.ns + "/" + row.name;
  return base::short_text(name, kLongestName);
}

bool is_ordered(const std::vector<Row>& rows) {
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (!(key_of(rows[i - 1]) < key_of(rows[i]))) return false;
  }
  return true;
}

/// The eight bytes behind the first `skip`, so that numbers compare as the texts do; short texts end in zeros.
std::uint64_t leading_bytes(std::string_view text, std::size_t skip) {
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < 8; ++i)
    key = key << 8 | (skip + i < text.size() ? static_cast<unsigned char>(text[skip + i]) : 0U);
  return key;
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// What is to be known of a namespace before its names are compared.
struct NamespaceKey {
  std::uint32_t rank = 0;   ///< among the namespaces, sorted
  std::size_t prefix = 0;   ///< bytes that all of its names begin with
  std::string_view sample;  ///< one of the names
};
using NamespaceKeys = std::unordered_map<std::string_view, NamespaceKey>;

NamespaceKeys namespaces_of(const std::vector<Row>& rows) {
  NamespaceKeys keys;
  for (const Row& row : rows) {
    const auto [at, is_new] = keys.try_emplace(row.ns, NamespaceKey{0, row.name.size(), row.name});
    if (!is_new) at->second.prefix = std::min(at->second.prefix, common_prefix(at->second.sample, row.name));
  }
  std::vector<std::string_view> names;
  for (const auto& [ns, key] : keys) names.push_back(ns);
  std::ranges::sort(names);
  for (std::uint32_t i = 0; i < names.size(); ++i) keys[names[i]].rank = i;
  return keys;
}

/// The rows' order by (ns, name), equal ones as they came. A hundred thousand names in no order are compared by numbers
/// side by side in memory rather than by texts all over it.
std::vector<std::uint32_t> order_of(const std::vector<Row>& rows) {
  struct Entry {
    std::uint64_t name;
    std::uint32_t rank;
    std::uint32_t row;
  };
  const NamespaceKeys keys = namespaces_of(rows);
  std::vector<Entry> entries;
  entries.reserve(rows.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const NamespaceKey& key = keys.find(rows[i].ns)->second;
    entries.push_back({leading_bytes(rows[i].name, key.prefix), key.rank, i});
  }
  std::ranges::sort(entries, [&](const Entry& a, const Entry& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.name != b.name) return a.name < b.name;
    const int compared = rows[a.row].name.compare(rows[b.row].name);
    return compared == 0 ? a.row < b.row : compared < 0;
  });
  std::vector<std::uint32_t> order;
  order.reserve(entries.size());
  for (const Entry& entry : entries) order.push_back(entry.row);
  return order;
}

Rows sorted(Rows rows) {
  Rows result(rows.width);
  result.oddities = rows.oddities;
  result.rows.reserve(rows.rows.size());
  result.values.reserve(rows.values.size());
  for (const std::uint32_t i : order_of(rows.rows)) {
    result.rows.push_back(std::move(rows.rows[i]));
    const auto from = rows.values.begin() + static_cast<std::ptrdiff_t>(i * rows.width);
    result.values.insert(result.values.end(), from, from + static_cast<std::ptrdiff_t>(rows.width));
  }
  return result;
}

/// Leaves one of equal neighbours, without values; returns whose they were.
std::vector<std::string> fold_duplicates(Rows& rows) {
  std::vector<std::string> duplicates;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    if (kept > 0 && key_of(rows.rows[kept - 1]) == key_of(rows.rows[i])) {
      std::fill_n(rows.values.begin() + static_cast<std::ptrdiff_t>((kept - 1) * rows.width), rows.width, kUnknown);
      if (const std::string name = shown(rows.rows[i]); duplicates.empty() || duplicates.back() != name)
        duplicates.push_back(name);
      continue;
    }
    if (kept != i) {
      rows.rows[kept] = std::move(rows.rows[i]);
      std::copy_n(rows.values.begin() + static_cast<std::ptrdiff_t>(i * rows.width), rows.width,
                  rows.values.begin() + static_cast<std::ptrdiff_t>(kept * rows.width));
    }
    ++kept;
  }
  rows.rows.resize(kept);
  rows.values.resize(kept * rows.width);
  return duplicates;
}

/// Walks two ordered lists side by side. take_left(i), take_right(j), take_both(i, j).
template <typename Left, typename Right, typename TakeLeft, typename TakeRight, typename TakeBoth>
void merge(const Left& left, const Right& right, TakeLeft take_left, TakeRight take_right, TakeBoth take_both) {
  std::size_t i = 0;
  std::size_t j = 0;
  const auto left_key = [&] { return std::pair(std::string_view(left[i].ns), std::string_view(left[i].name)); };
  const auto right_key = [&] { return std::pair(std::string_view(right[j].ns), std::string_view(right[j].name)); };
  while (i < left.size() || j < right.size()) {
    if (j == right.size() || (i < left.size() && left_key() < right_key())) {
      take_left(i++);
    } else if (i == left.size() || right_key() < left_key()) {
      take_right(j++);
    } else {
      take_both(i++, j++);
    }
  }
}

/// A node under the names that pods have.
struct NodeKey {
  std::string_view ns;
  std::string_view name;
};

void put(const Rows& rows, std::size_t row, double* target) {
  std::copy_n(rows.values.begin() + static_cast<std::ptrdiff_t>(row * rows.width), rows.width, target);
}

/// join_pods() where there is nothing to join with.
void take_pods(Samples& samples, Rows rows) {
  samples.pods.reserve(rows.rows.size());
  for (Row& row : rows.rows) samples.pods.push_back({std::move(row.ns), std::move(row.name)});
  samples.pod_values = std::move(rows.values);
}

}  // namespace

void Oddities::tell(std::string_view prefix, std::vector<std::string>& problems) const {
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count == 1) problems.push_back(fmt::format("{}1 value is {}", prefix, what));
    if (count > 1) problems.push_back(fmt::format("{}{} values are {}", prefix, count, what));
  };
  add(not_finite, "NaN or infinite");
  add(negative, "negative");
  add(unreadable, "no number");
  add(nameless, "of nobody: a label or a name is missing");
}

std::size_t Rows::add(std::string_view ns, std::string_view name, base::TimePoint time) {
  rows.push_back({std::string(ns), std::string(name), time});
  values.insert(values.end(), width, kUnknown);
  return values.size() - width;
}

void Rows::reserve(std::size_t count) {
  rows.reserve(count);
  values.reserve(count * width);
}

double checked(double value, Oddities& oddities) {
  if (!std::isfinite(value)) return ++oddities.not_finite, kUnknown;
  if (value < 0) return ++oddities.negative, kUnknown;
  return value;
}

double read_quantity(std::string_view text, Oddities& oddities) {
  if (const auto plain = read_plain_quantity(text)) return checked(*plain, oddities);
  const auto quantity = api::Quantity::parse(text);
  if (!quantity) return ++oddities.unreadable, kUnknown;
  return checked(static_cast<double>(quantity->milli()) / 1000.0, oddities);
}

double read_number(std::string_view text, Oddities& oddities) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Out of range means 1e999, which is as good as infinite, or 1e-999, which is as good as unreadable.
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

void bring_into_order(Rows& rows, std::string_view prefix, std::vector<std::string>& problems) {
  if (is_ordered(rows.rows)) return;
  rows = sorted(std::move(rows));
  const auto duplicates = fold_duplicates(rows);
  if (!duplicates.empty())
    problems.push_back(fmt::format("{}more than one value for {}", prefix, some_names(duplicates)));
}

void join_nodes(Samples& samples, Rows rows, std::size_t first) {
  std::vector<NodeKey> known;
  known.reserve(samples.nodes.size());
  for (const Samples::Node& node : samples.nodes) known.push_back({{}, node.name});
  std::vector<Samples::Node> joined;
  joined.reserve(std::max(known.size(), rows.rows.size()));
  const std::size_t width = samples.columns.size();
  merge(
      known, rows.rows, [&](std::size_t i) { joined.push_back(std::move(samples.nodes[i])); },
      [&](std::size_t j) {
        joined.push_back({std::move(rows.rows[j].name), rows.rows[j].time, std::vector<double>(width, kUnknown)});
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
      samples.pods, rows.rows, keep,
      [&](std::size_t j) {
        joined.push_back({std::move(rows.rows[j].ns), std::move(rows.rows[j].name)});
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

std::string_view without_port(std::string_view instance) {
  if (instance.starts_with('[')) return instance.substr(1, instance.find(']') - 1);
  const auto colon = instance.find(':');
  if (colon == std::string_view::npos || instance.find(':', colon + 1) != std::string_view::npos) return instance;
  return instance.substr(0, colon);
}

}  // namespace usage
