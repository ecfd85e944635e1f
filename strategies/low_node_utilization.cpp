#include "strategies/low_node_utilization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "strategies/eviction_order.hpp"
#include "strategies/utilization.hpp"

namespace strategies {
namespace {

using scheduling::saturating_add;
using scheduling::saturating_subtract;

/// Percent below which a node counts as under, above which as over, per threshold resource.
struct Band {
  std::vector<double> low;
  std::vector<double> high;
};

double clamp_percent(double percent) { return std::clamp(percent, 0.0, 100.0); }

/// Mean over the nodes that publish the resource.
double mean_percent(const std::vector<NodeUsage>& nodes, std::size_t resource, std::string_view name) {
  double sum = 0;
  int publishing = 0;
  for (const NodeUsage& node : nodes) {
    const auto percent = node.percent(resource, name);
    if (!percent) continue;
    sum += *percent;
    ++publishing;
  }
  return publishing == 0 ? 0 : sum / publishing;
}

Band band_of(const LowNodeUtilization::Args& args, const std::vector<NodeUsage>& nodes) {
  Band band;
  for (std::size_t r = 0; r < args.thresholds.size(); ++r) {
    const double low = args.thresholds[r].second;
    const double high = args.target_thresholds[r].second;
    if (!args.use_deviation_thresholds) {
      band.low.push_back(low);
      band.high.push_back(high);
      continue;
    }
    const double mean = mean_percent(nodes, r, args.thresholds[r].first);
    band.low.push_back(clamp_percent(mean - low));
    band.high.push_back(clamp_percent(mean + high));
  }
  return band;
}

/// The whole run over one cluster: who gives, who takes, and the room that is left.
class Balancing {
 public:
  Balancing(const LowNodeUtilization::Args& args, const Context& context, NominationSink& sink,
            const UsageView& usage, std::vector<std::string> resources, std::vector<NodeUsage> nodes)
      : args_(args),
        context_(context),
        sink_(sink),
        usage_(usage),
        resources_(std::move(resources)),
        nodes_(std::move(nodes)),
        band_(band_of(args, nodes_)) {}

  void run() {
    classify();
    const bool nothing_to_do = under_.empty() || over_.empty() || under_.size() == nodes_.size() ||
                               under_.size() <= static_cast<std::size_t>(std::max(args_.number_of_nodes, 0));
    if (nothing_to_do) return;
    const DestinationTaints destinations(context_.cluster.base(), taking_nodes());
    add_up_room();
    const auto fullest_first = [&](std::size_t n) { return -nodes_[n].raw_sum(resources_); };
    std::ranges::stable_sort(over_, {}, fullest_first);
    for (const std::size_t node : over_) {
      if (!relieve(nodes_[node], destinations)) return;
    }
  }

 private:
  using NodeNumber = std::size_t;  ///< position in nodes_

  void classify() {
    for (NodeNumber n = 0; n < nodes_.size(); ++n) {
      if (is_under(nodes_[n])) {
        under_.push_back(n);
      } else if (resource_over(nodes_[n])) {
        over_.push_back(n);
      }
    }
  }

  bool is_under(const NodeUsage& node) const {
    if (context_.cluster.base().node(node.node).unschedulable) return false;
    for (std::size_t r = 0; r < band_.low.size(); ++r) {
      if (node.percent(r, resources_[r]).value_or(0) > band_.low[r]) return false;
    }
    return true;
  }

  std::optional<std::size_t> resource_over(const NodeUsage& node) const {
    for (std::size_t r = 0; r < band_.high.size(); ++r) {
      if (node.percent(r, resources_[r]).value_or(0) > band_.high[r]) return r;
    }
    return std::nullopt;
  }

  std::vector<NodeIndex> taking_nodes() const {
    std::vector<NodeIndex> nodes;
    for (const NodeNumber n : under_) nodes.push_back(nodes_[n].node);
    return nodes;
  }

  /// How much of a resource the node may use: the target's share, or all where no threshold is set.
  std::int64_t allowance(const NodeUsage& node, std::size_t r) const {
    if (!node.capacity[r]) return 0;
    return r < band_.high.size() ? share_of(*node.capacity[r], band_.high[r], resources_[r]) : *node.capacity[r];
  }

  void add_up_room() {
    room_.assign(resources_.size(), 0);
    for (const NodeNumber n : under_) {
      for (std::size_t r = 0; r < resources_.size(); ++r) {
        room_[r] = saturating_add(room_[r], saturating_subtract(allowance(nodes_[n], r), nodes_[n].used[r]));
      }
    }
  }

  bool goes_on(const NodeUsage& node) const {
    bool above = false;
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      if (room_[r] <= 0) return false;
      above = above || node.used[r] > allowance(node, r);
    }
    return above;
  }

  std::vector<PodIndex> removable_pods(const NodeUsage& node) {
    std::vector<PodIndex> pods;
    context_.cluster.for_each_on(node.node, [&](PodIndex pod) {
      if (!context_.cluster.base().is_active(pod) || context_.cluster.is_moved(pod)) return;
      if (const auto refusal = context_.evictability.refusal(pod)) {
        sink_.refused(pod, *refusal);
      } else {
        pods.push_back(pod);
      }
    });
    sort_for_eviction(pods, context_.cluster.base());
    return pods;
  }

  /// Takes pods from one node. False: the cycle's total limit is reached.
  bool relieve(NodeUsage& node, const DestinationTaints& destinations) {
    const std::vector<PodIndex> pods = removable_pods(node);
    if (!goes_on(node)) return true;
    const std::string reason = reason_for(node);
    std::uint32_t evicted = 0;
    for (const PodIndex pod : pods) {
      if (args_.evictions_per_node && evicted >= *args_.evictions_per_node) return true;
      if (!may_leave(pod, destinations)) continue;
      const auto freed = usage_of(pod);
      if (!freed) continue;
      switch (sink_.offer(pod, reason)) {
        case Verdict::kTotalLimit: return false;
        case Verdict::kNodeLimit: return true;
        case Verdict::kNamespaceLimit:
        case Verdict::kRefused: continue;
        case Verdict::kAccepted: break;
      }
      ++evicted;
      if (!usage_.knows_pods()) {  // the effect cannot be foreseen: one pod, unless a number was asked for
        if (!args_.evictions_per_node) return true;
        continue;
      }
      account(node, *freed);
      if (!goes_on(node)) return true;
    }
    return true;
  }

  bool may_leave(PodIndex pod, const DestinationTaints& destinations) {
    const api::Pod& object = context_.cluster.base().pod(pod);
    if (!destinations.accept(object)) {
      sink_.refused(pod, {"NoDestinationTolerated", "it tolerates the taints of no underutilized node"});
      return false;
    }
    if (std::ranges::find(args_.excluded_namespaces, object.meta.ns) != args_.excluded_namespaces.end()) {
      sink_.refused(pod, {"NamespaceExcluded", "evictableNamespaces excludes the namespace {subject}", object.meta.ns});
      return false;
    }
    const auto refusal = context_.evictability.refusal_before_eviction(pod, context_.cluster);
    if (refusal) sink_.refused(pod, *refusal);
    return !refusal;
  }

  /// nullopt: measured usage is missing, so the pod is left alone.
  std::optional<std::vector<std::int64_t>> usage_of(PodIndex pod) const {
    std::vector<std::int64_t> used(resources_.size(), 0);
    if (!usage_.knows_pods()) return used;
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      const auto amount = usage_.of_pod(pod, resources_[r]);
      if (!amount) return std::nullopt;
      used[r] = *amount;
    }
    return used;
  }

  void account(NodeUsage& node, const std::vector<std::int64_t>& freed) {
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      node.used[r] = saturating_subtract(node.used[r], freed[r]);
      room_[r] = saturating_subtract(room_[r], freed[r]);
    }
  }

  std::string reason_for(const NodeUsage& node) const {
    const auto r = resource_over(node);
    if (!r) return "its node is overutilized";
    return fmt::format("its node is overutilized: {} {:.1f} % of allocatable, target {:.4g} %", resources_[*r],
                       node.percent(*r, resources_[*r]).value_or(0), band_.high[*r]);
  }

  const LowNodeUtilization::Args& args_;
  const Context& context_;
  NominationSink& sink_;
  const UsageView& usage_;
  const std::vector<std::string> resources_;
  std::vector<NodeUsage> nodes_;
  const Band band_;
  std::vector<NodeNumber> under_;
  std::vector<NodeNumber> over_;
  std::vector<std::int64_t> room_;  ///< of all underutilized nodes together, per resource; shared, only shrinks
};

void check_pairs(api::StrictObject& args, const LowNodeUtilization::Args& parsed) {
  const auto same_resource = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (!std::ranges::equal(parsed.thresholds, parsed.target_thresholds, same_resource)) {
    args.complain("targetThresholds", "must name the same resources as thresholds");
    return;
  }
  if (parsed.use_deviation_thresholds) return;
  for (std::size_t r = 0; r < parsed.thresholds.size(); ++r) {
    const auto& [resource, low] = parsed.thresholds[r];
    const double high = parsed.target_thresholds[r].second;
    if (low <= high) continue;
    args.errors().push_back({entry_path(args.path().field("thresholds"), resource).text(),
                             fmt::format("{} is above targetThresholds, which is {}", low, high)});
  }
}

}  // namespace

LowNodeUtilization::Args LowNodeUtilization::Args::read(api::StrictObject& args) {
  Args parsed;
  const std::size_t before = args.errors().size();
  parsed.thresholds = read_percentages(args, "thresholds");
  parsed.target_thresholds = read_percentages(args, "targetThresholds");
  args.read("useDeviationThresholds", parsed.use_deviation_thresholds);
  args.read("numberOfNodes", parsed.number_of_nodes);
  args.with("evictableNamespaces", [&](api::StrictObject& namespaces) {
    namespaces.read("exclude", parsed.excluded_namespaces);
    if (namespaces.find("include") != nullptr) namespaces.complain("include", "only exclude is possible here");
  });
  args.with("evictionLimits", [&](api::StrictObject& limits) { limits.read("node", parsed.evictions_per_node); });
  args.not_supported_yet({"metricsUtilization"});
  if (args.errors().size() == before) check_pairs(args, parsed);
  return parsed;
}

base::Status LowNodeUtilization::nominate(const Context& context, NominationSink& sink) const {
  const RequestedUsage by_requests(context.cluster);
  const UsageView& usage = context.usage != nullptr ? *context.usage : by_requests;
  std::vector<std::string> resources = tracked_resources(args_.thresholds);
  auto nodes = measure(context.cluster, context.nodes, usage, resources);
  if (!nodes) return nodes.error();
  Balancing(args_, context, sink, usage, std::move(resources), *std::move(nodes)).run();
  return base::Done{};
}

}  // namespace strategies
