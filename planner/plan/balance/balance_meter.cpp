#include "planner/plan/balance/balance_meter.hpp"

#include <algorithm>
#include <cmath>

#include "planner/strategies/load/move_cost.hpp"

namespace planner {
namespace {

using scheduling::NodeIndex;
using scheduling::PodIndex;
using strategies::BalanceSubject;
using strategies::LoadTable;

std::vector<NodeIndex> all_nodes_of(const BalanceSubject& subject) {
  std::vector<NodeIndex> nodes;
  for (const BalanceSubject::Pool& pool : subject.pools)
    nodes.insert(nodes.end(), pool.nodes.begin(), pool.nodes.end());
  return nodes;
}

std::vector<NodeIndex> known_of(const BalanceSubject::Pool& pool, const LoadTable& load) {
  std::vector<NodeIndex> nodes = pool.nodes;
  std::erase_if(nodes, [&](NodeIndex node) { return !load.knows(node); });
  return nodes;
}

}  // namespace

BalanceMeter::BalanceMeter(const scheduling::ClusterSnapshot& cluster, BalanceSubject subject)
    : cluster_(cluster),
      subject_(std::move(subject)),
      before_(cluster, *subject_.usage, subject_.resources, all_nodes_of(subject_)),
      pool_of_(cluster.node_count(), kNoPool),
      now_(scale_of(before_)),
      emptying_(cluster.node_count(), 0) {
  for (std::size_t p = 0; p < subject_.pools.size(); ++p) {
    for (const NodeIndex node : subject_.pools[p].nodes) pool_of_[node] = p;
  }
  if (subject_.means) means_.emplace(scale_of({cluster, *subject_.means, subject_.resources, all_nodes_of(subject_)}));
}

BalanceMeter::Scale BalanceMeter::scale_of(LoadTable load) const {
  Middle all;
  for (const BalanceSubject::Pool& pool : subject_.pools) {
    const std::vector<NodeIndex> known = known_of(pool, load);
    std::vector<double>& middle = all.emplace_back(pool.packed_to);
    for (std::size_t r = middle.size(); r < subject_.resources.size(); ++r) middle.push_back(load.mean(known, r));
  }
  return {std::move(load), std::move(all)};
}

/// Returns true if the load of the node, which its strategy is to empty, has fallen to the pool's emptied_up_to limits.
bool BalanceMeter::is_emptied(const LoadTable& load, NodeIndex node) const {
  const std::vector<double>& limits = subject_.pools[pool_of_[node]].emptied_up_to;
  return std::ranges::equal(load.percents(node), limits, std::ranges::less_equal{});
}

/// Distance of `percent` from the middle. For a pool that is packed, only the excess above the target counts.
double BalanceMeter::distance(NodeIndex node, double percent, double middle) const {
  const double distance = percent - middle;
  return subject_.pools[pool_of_[node]].packed_to.empty() ? distance : std::max(distance, 0.0);
}

/// Returns by how much the node's squared distance shrinks if its load changes by `amount` of the resource.
double BalanceMeter::gain_on(const Scale& scale, std::size_t resource, NodeIndex node, std::int64_t amount) const {
  const LoadTable& load = scale.load;
  if (!load.knows(node) || !load.has(node, resource)) return 0;
  const double middle = scale.middle[pool_of_[node]][resource];
  const double now = load.percent(node, resource);
  const double then = std::max(now + load.percent_of(node, resource, amount), 0.0);
  return std::pow(distance(node, now, middle), 2) - std::pow(distance(node, then, middle), 2);
}

double BalanceMeter::gain_by(const Scale& scale, PodIndex pod, NodeIndex from, std::optional<NodeIndex> to) const {
  double gain = 0;
  for (std::size_t r = 0; r < subject_.resources.size(); ++r) {
    const std::int64_t amount = scale.load.amount(pod, r).value_or(0);
    gain += gain_on(scale, r, from, -amount) + (to ? gain_on(scale, r, *to, amount) : 0);
  }
  return gain;
}

/// Returns 0 … 100. Freeing a node has the full benefit regardless of its load.
double BalanceMeter::benefit(PodIndex pod, NodeIndex from, std::optional<NodeIndex> to) const {
  constexpr double kMax = 100;
  constexpr double kHalf = 100;  // points²
  if (empties(from)) return kMax;
  double gain = gain_by(now_, pod, from, to);
  using strategies::kWeightOfCurrentLoad;
  if (means_) gain = kWeightOfCurrentLoad * gain + (1 - kWeightOfCurrentLoad) * gain_by(*means_, pod, from, to);
  return gain > 0 ? kMax * gain / (gain + kHalf) : 0;
}

double BalanceMeter::cost(PodIndex pod, NodeIndex from) const {
  if (!empties(from)) return strategies::move_cost(cluster_, pod);
  double& known = emptying_[from];
  if (known <= 0) known = std::max(strategies::emptying_cost(cluster_, from), 1.0);
  return known;
}

double BalanceMeter::score(PodIndex pod, NodeIndex from, std::optional<NodeIndex> to) const {
  return std::round(benefit(pod, from, to) / cost(pod, from) * 10) / 10;
}

api::Imbalance BalanceMeter::imbalance(const LoadTable& load, std::size_t resource) const {
  double squares = 0;
  std::size_t nodes = 0;
  api::Imbalance result;
  for (const BalanceSubject::Pool& pool : subject_.pools) {
    const std::vector<NodeIndex> known = known_of(pool, load);
    const double mean = load.mean(known, resource);
    double peak = 0;
    const bool empties = !pool.emptied_up_to.empty();
    for (const NodeIndex node : known) {
      if (!load.has(node, resource)) continue;
      const double percent = load.percent(node, resource);
      double off = percent - mean;
      if (!pool.packed_to.empty()) off = distance(node, percent, now_.middle[pool_of_[node]][resource]);
      if (empties) off = is_emptied(load, node) ? percent : 0;
      squares += off * off;
      ++nodes;
      peak = std::max(peak, percent);
    }
    if (mean > 0) result.peak_to_mean = std::max(result.peak_to_mean, peak / mean);
  }
  if (nodes > 0) result.deviation = std::sqrt(squares / static_cast<double>(nodes));
  const auto rounded = [](double value) { return std::round(value * 1000) / 1000; };
  return {rounded(result.deviation), rounded(result.peak_to_mean)};
}

std::vector<api::BalanceRow> BalanceMeter::rows(std::string_view strategy) const {
  std::vector<api::BalanceRow> rows;
  if (before_.known().empty()) return rows;
  for (std::size_t r = 0; r < subject_.resources.size(); ++r) {
    rows.push_back(
        {std::string(strategy), subject_.resources[r], imbalance(before_, r), imbalance(now_.load, r), "", 0, 0});
  }
  std::ranges::sort(rows, {}, &api::BalanceRow::resource);
  return rows;
}

}  // namespace planner
