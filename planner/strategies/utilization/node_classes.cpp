#include "planner/strategies/utilization/node_classes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/meta/well_known.hpp"

namespace strategies {
namespace {

constexpr std::size_t kMaxNamed = 3;

std::int32_t api::NodeClasses::*count_of(api::NodeClass node_class) {
  using enum api::NodeClass;
  switch (node_class) {
    case kOverutilized: return &api::NodeClasses::over;
    case kUnderutilized: return &api::NodeClasses::under;
    case kAppropriate: return &api::NodeClasses::appropriate;
    case kUnknown: return &api::NodeClasses::unknown;
    case kOutOfScope: return &api::NodeClasses::out_of_scope;
    case kNotConsidered: break;
  }
  return &api::NodeClasses::not_considered;
}

/// Returns the published resource whose usage is closest to its percentage.
std::size_t closest_to(const NodeUsage& node, const std::vector<double>& percents,
                       const std::vector<std::string>& resources) {
  std::optional<std::size_t> closest;
  double least = 0;
  for (std::size_t r = 0; r < percents.size(); ++r) {
    if (!node.publishes(r)) continue;
    const double distance = percents[r] - node.percent(r, resources[r]).value_or(0);
    if (closest && distance >= least) continue;
    closest = r;
    least = distance;
  }
  return closest.value_or(0);
}

}  // namespace

void NodeClassification::add(NodeIndex node, api::NodeClass node_class, const std::function<std::string()>& reason) {
  ++(classes_.*count_of(node_class));
  const api::Node& object = context_.cluster.base().node(node);
  if (object.unschedulable && node_class == api::NodeClass::kUnderutilized) {
    ++classes_.cordoned_under;
    if (cordoned_under_.size() < kMaxNamed) cordoned_under_.push_back(object.meta.name);
  }
  std::vector<api::ClassifiedNode>& rows = rows_[static_cast<std::size_t>(node_class)];
  if (rows.size() < sink_.node_rows()) rows.push_back({object.meta.name, node_class, object.unschedulable, reason()});
}

void NodeClassification::add_rest(const LoadTable& load) {
  for (const NodeIndex node : load.unknown())
    add(node, api::NodeClass::kUnknown, [] { return "values of some resources are not usable"; });
  for (const NodeIndex node : load.out_of_scope()) {
    add(node, api::NodeClass::kOutOfScope,
        [&] { return fmt::format("without {}, which it does not publish", fmt::join(load.resources(), ", ")); });
  }
}

void NodeClassification::add_nodes_in_no_pool(std::vector<NodeIndex> in_pools) {
  std::ranges::sort(in_pools);
  for (const NodeIndex node : context_.nodes) {
    if (!std::ranges::binary_search(in_pools, node))
      add(node, api::NodeClass::kNotConsidered, [] { return "it is in no pool"; });
  }
}

void NodeClassification::note(std::string_view pool, const std::string& text) {
  if (text.empty()) return;
  if (!classes_.note.empty()) classes_.note += "; ";
  classes_.note += pool.empty() ? text : fmt::format("pool {}: {}", pool, text);
}

void NodeClassification::report() {
  for (std::vector<api::ClassifiedNode>& rows : rows_) std::ranges::move(rows, std::back_inserter(classes_.nodes));
  classes_.nodes.resize(std::min(classes_.nodes.size(), sink_.node_rows()));
  sink_.report(std::move(classes_));
}

std::string NodeClassification::cordoned_under() const {
  if (cordoned_under_.empty()) return {};
  const auto more = static_cast<std::size_t>(classes_.cordoned_under) - cordoned_under_.size();
  return fmt::format("{}{}", fmt::join(cordoned_under_, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string describe_share(const NodeUsage& node, std::size_t resource, std::string_view name) {
  const double percent = node.percent(resource, name).value_or(0);
  if (name != api::well_known::kPods) return fmt::format("{} {:.1f} % of allocatable", name, percent);
  return fmt::format("pods {} of {} ({:.1f} %)", node.used[resource] / 1000, node.capacity[resource].value_or(0) / 1000,
                     percent);
}

std::string describe_unpublished(const NodeUsage& node, const std::vector<std::string>& resources,
                                 std::size_t thresholds) {
  std::string names;
  for (std::size_t r = 0; r < thresholds; ++r) {
    if (!node.publishes(r)) names += (names.empty() ? "" : ", ") + resources[r];
  }
  return names.empty() ? names : names + ", which it does not publish";
}

std::optional<std::size_t> resource_above(const NodeUsage& node, const std::vector<double>& percents,
                                          const std::vector<std::string>& resources) {
  for (std::size_t r = 0; r < percents.size(); ++r) {
    if (node.percent(r, resources[r]).value_or(0) > percents[r]) return r;
  }
  return std::nullopt;
}

std::string describe_against(const NodeUsage& node, const std::vector<double>& percents,
                             const std::vector<std::string>& resources, std::string_view thresholds) {
  const auto above = resource_above(node, percents, resources);
  const std::size_t r = above.value_or(closest_to(node, percents, resources));
  std::string text = fmt::format("{}, {} {} {:.4g} %", describe_share(node, r, resources[r]),
                                 above ? "above" : "not above", thresholds, percents[r]);
  const std::string unpublished = describe_unpublished(node, resources, percents.size());
  return unpublished.empty() ? text : text + "; without " + unpublished;
}

std::string describe_load(const LoadTable& load, NodeIndex node, const std::vector<double>& percents,
                          std::string_view thresholds) {
  std::size_t decides = 0;
  for (std::size_t r = 1; r < percents.size(); ++r) {  // furthest above, or closest
    if (!load.has(node, r)) continue;
    const auto excess = [&](std::size_t each) { return load.percent(node, each) - percents[each]; };
    if (!load.has(node, decides) || excess(r) > excess(decides)) decides = r;
  }
  const double percent = load.percent(node, decides);
  return fmt::format("measured {} {:.1f} %, {} {} {:.4g} %", load.resources()[decides], percent,
                     percent > percents[decides] ? "above" : "not above", thresholds, percents[decides]);
}

std::string describe_excess(const LoadTable& load, NodeIndex node, const std::vector<double>& limits) {
  for (std::size_t r = 0; r < limits.size(); ++r) {
    if (load.percent(node, r) <= limits[r]) continue;
    return fmt::format(": measured {} {:.1f} %, target {:.4g} %", load.resources()[r], load.percent(node, r),
                       limits[r]);
  }
  return {};
}

bool is_in_scope(const NodeUsage& node, std::size_t thresholds) {
  for (std::size_t r = 0; r < thresholds; ++r) {
    if (node.publishes(r)) return true;
  }
  return false;
}

bool is_too_few(std::size_t under, std::int32_t number_of_nodes) {
  return under == 0 || under <= static_cast<std::size_t>(std::max(number_of_nodes, 0));
}

std::string describe_too_few(std::size_t under, std::int32_t number_of_nodes, const NodeClassification& classes) {
  if (under > 0)
    return fmt::format("{} {} underutilized, and numberOfNodes requires more than {}", under,
                       under == 1 ? "node is" : "nodes are", number_of_nodes);
  const std::string cordoned = classes.cordoned_under();
  if (cordoned.empty()) return "no node is underutilized";
  return fmt::format("no node is underutilized except cordoned nodes, which accept no pods: {}", cordoned);
}

}  // namespace strategies
