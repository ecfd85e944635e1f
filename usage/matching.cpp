#include "usage/matching.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "usage/parse/rows.hpp"

namespace usage {
namespace {

constexpr std::size_t kMaxShown = 253;

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

bool is_ip(std::string_view text) {
  return text.find(':') != std::string_view::npos || text.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string short_name(const std::string& name) { return name.substr(0, name.find('.')); }

}  // namespace

NodeNames names_of(const api::Node& node) {
  NodeNames names{node.meta.name, node.addresses};
  if (const std::string* host = node.meta.labels.find("kubernetes.io/hostname")) names.addresses.push_back(*host);
  return names;
}

void NodeMatcher::put(Index& index, std::string key, const std::string& node) {
  const auto [at, is_new] = index.emplace(std::move(key), node);
  if (!is_new && at->second != node) at->second.clear();
}

std::string_view NodeMatcher::find(const Index& index, const std::string& key) {
  const auto found = index.find(key);
  return found == index.end() ? std::string_view() : std::string_view(found->second);
}

NodeMatcher::NodeMatcher(const std::vector<NodeNames>& nodes) {
  for (const NodeNames& node : nodes) {
    names_.emplace(node.name, node.name);
    put(short_names_, short_name(lower(node.name)), node.name);
    for (const std::string& address : node.addresses) {
      Listed& listed = addresses_.try_emplace(lower(address), Listed{node.name, {}}).first->second;
      if (listed.node != node.name && listed.other.empty()) listed.other = node.name;
    }
  }
}

/// `name` must be in lower case, without a port.
std::string_view NodeMatcher::match_name(const std::string& name) const {
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  if (is_ip(name)) return {};
  const std::string_view by_short = find(short_names_, short_name(name));
  const bool one_side_only = (name.find('.') == std::string::npos) != (by_short.find('.') == std::string_view::npos);
  return one_side_only ? by_short : std::string_view();
}

std::string_view NodeMatcher::match(std::string_view instance) const {
  if (const auto exact = names_.find(std::string(instance)); exact != names_.end()) return exact->second;
  const std::string name = lower(without_port(instance));
  if (const std::string_view by_name = match_name(name); !by_name.empty()) return by_name;
  const auto listed = addresses_.find(name);
  return listed != addresses_.end() && listed->second.other.empty() ? listed->second.node : std::string_view();
}

std::string NodeMatcher::listed_by(std::string_view instance) const {
  const auto listed = addresses_.find(lower(without_port(instance)));
  const bool is_doubled = listed != addresses_.end() && !listed->second.other.empty() && match(instance).empty();
  return is_doubled ? fmt::format("{} and {}", listed->second.node, listed->second.other) : std::string();
}

void match_nodes(Samples& samples, const NodeMatcher& matcher) {
  Rows rows(samples.columns.size());
  std::vector<std::string> strangers;
  std::vector<std::string> doubled;
  for (Samples::Node& node : samples.nodes) {
    const std::string_view name = matcher.match(node.name);
    if (name.empty()) {
      const std::string text = base::truncate_utf8(node.name, kMaxShown);
      const std::string nodes = matcher.listed_by(node.name);
      nodes.empty() ? strangers.push_back(text) : doubled.push_back(fmt::format("{} ({})", text, nodes));
      continue;
    }
    const std::size_t at = rows.add({}, name, node.time);
    std::ranges::copy(node.values, rows.values.begin() + static_cast<std::ptrdiff_t>(at));
  }
  if (!strangers.empty())
    samples.problems.push_back(fmt::format("{} of {} are not nodes of this cluster: {}", strangers.size(),
                                           samples.nodes.size(), some_names(strangers)));
  if (!doubled.empty())
    samples.problems.push_back(fmt::format("{} of {} are addresses that two nodes share: {}", doubled.size(),
                                           samples.nodes.size(), some_names(doubled)));
  sort_and_merge(rows, "", samples.problems);
  samples.nodes.clear();
  join_nodes(samples, std::move(rows), 0);
}

void match_nodes(std::vector<Series>& series, const NodeMatcher& matcher) {
  for (Series& one : series) one.node = std::string(matcher.match(one.node));
  std::erase_if(series, [](const Series& one) { return one.node.empty(); });
  const auto key = [](const Series& one) { return std::tie(one.resource, one.node); };
  std::ranges::stable_sort(series, {}, key);
  std::set<std::pair<std::string, std::string>> several;
  for (std::size_t i = 1; i < series.size(); ++i) {
    if (key(series[i - 1]) == key(series[i])) several.emplace(series[i].resource, series[i].node);
  }
  std::erase_if(series, [&](const Series& one) { return several.contains({one.resource, one.node}); });
}

}  // namespace usage
