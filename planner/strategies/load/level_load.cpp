#include "planner/strategies/load/level_load.hpp"

#include <algorithm>
#include <span>

#include "planner/strategies/load/loaded_nodes.hpp"
#include "planner/strategies/load/move_load.hpp"

namespace strategies {
namespace {

double held(double percent) { return std::clamp(percent, 0.0, 100.0); }

std::string describe_overload(const LoadTable& load, NodeIndex node, const std::vector<double>& high) {
  const std::string excess = describe_excess(load, node, high);
  return "its node is overutilized" + (excess.empty() ? " by measured usage" : excess);
}

LoadBand band_of(const Thresholds& thresholds, const LoadTable& load) {
  return load_band_of(thresholds, [&](std::size_t r) { return load.mean(load.known(), r); });
}

class Leveller {
 public:
  Leveller(const StrategyContext& context, const MeasuredLoad& load, const PoolNodes& pool)
      : context_(context),
        load_(load),
        pool_(pool),
        giving_(load.giving(pool.nodes)),
        taking_(load.taking(pool.nodes)),
        band_(band_of(*pool.thresholds, giving_)) {}

  void run(NominationSink& sink, const LowNodeUtilization& args, bool soft_taint, NodeClassification& classes) {
    LoadRules rules;
    pick_nodes(rules, classes);
    classes.add_rest(giving_);
    classes.note(pool_.name, why_idle(rules, args.number_of_nodes, classes));
    if (!has_enough_low_nodes(args.number_of_nodes)) return;
    LoadedNodes loaded(context_, sink, taking_, {band_.low, band_.no_taint_below});
    // Includes pods that are leaving, because their replacements need the same taints.
    if (soft_taint && has_any_above(taking_, band_.high)) loaded.avoid(giving_, rules.sources);
    if (rules.sources.empty()) return;
    rules.high = band_.high;
    rules.level = band_.level;
    rules.excluded_namespaces = args.excluded_namespaces;
    rules.evictions_per_node = args.evictions_per_node;
    rules.reason = [&](NodeIndex node) { return describe_overload(giving_, node, band_.high); };
    move_load(context_, sink, giving_, taking_, rules, usual_load());
  }

 private:
  std::optional<UsualLoad> usual_load() const {
    std::optional<LoadTable> load = load_.usual(pool_.nodes);
    if (!load) return std::nullopt;
    std::vector<double> level = band_of(*pool_.thresholds, *load).level;
    return UsualLoad{*std::move(load), std::move(level)};
  }

  /// Describes a node that is not overutilized, although leaving pods may make it look so.
  std::string describe_below(NodeIndex node) const {
    std::string text = describe_load(taking_, node, band_.low, "thresholds");
    if (!is_above(taking_.percents(node), band_.high)) return text;
    return text + "; without the pods that are leaving it " +
           describe_load(giving_, node, band_.high, "targetThresholds");
  }

  void pick_nodes(LoadRules& rules, NodeClassification& classes) const {
    const auto says_over = [&](std::span<const double> percent) { return is_above(percent, band_.high); };
    for (const NodeIndex node : giving_.known()) {
      if (!taking_.knows(node)) continue;
      if (says_over(giving_.percents(node))) {
        const bool is_confirmed = load_.confirms(node, says_over);
        if (is_confirmed) rules.sources.push_back(node);
        classes.add(node, api::NodeClass::kOverutilized, [&] {
          return describe_load(giving_, node, band_.high, "targetThresholds").append(is_confirmed ? "" : kNotConfirmed);
        });
        continue;
      }
      const bool is_low = !is_above(taking_.percents(node), band_.low);
      classes.add(node, is_low ? api::NodeClass::kUnderutilized : api::NodeClass::kAppropriate,
                  [&] { return describe_below(node); });
      if (!context_.cluster.base().node(node).unschedulable && !is_above(taking_.percents(node), band_.level)) {
        rules.destinations.push_back(node);
      }
    }
    std::ranges::stable_sort(rules.sources, std::ranges::greater{},
                             [&](NodeIndex node) { return worst_excess(giving_.percents(node), band_.high); });
    std::ranges::stable_sort(rules.destinations, {},
                             [&](NodeIndex node) { return worst_excess(taking_.percents(node), band_.level); });
  }

  std::string why_idle(const LoadRules& rules, std::int32_t number_of_nodes, const NodeClassification& classes) const {
    if (giving_.known().empty()) return "no node has usable values of a resource that has thresholds";
    if (!has_enough_low_nodes(number_of_nodes)) return describe_too_few(low_nodes(), number_of_nodes, classes);
    if (rules.sources.empty() && has_any_above(giving_, band_.high))
      return "the overutilized nodes are not confirmed by enough samples yet";
    if (rules.sources.empty()) return "no node is overutilized";
    return rules.destinations.empty() ? "no destination node has a load low enough to accept more" : "";
  }

  bool has_enough_low_nodes(std::int32_t number) const {
    return number <= 0 || low_nodes() > static_cast<std::size_t>(number);
  }
  std::size_t low_nodes() const {
    return static_cast<std::size_t>(std::ranges::count_if(taking_.known(), [&](NodeIndex node) {
      return !context_.cluster.base().node(node).unschedulable && !is_above(taking_.percents(node), band_.low);
    }));
  }

  const StrategyContext& context_;
  const MeasuredLoad& load_;
  const PoolNodes& pool_;
  LoadTable giving_;
  LoadTable taking_;
  const LoadBand band_;
};

}  // namespace

LoadBand load_band_of(const Thresholds& thresholds, const std::function<double(std::size_t resource)>& mean_of) {
  constexpr double kPartKept = 0.25;
  constexpr double kPartWelcome = 0.25;
  LoadBand band;
  for (std::size_t r = 0; r < thresholds.high.size(); ++r) {
    const double mean = thresholds.use_deviation ? mean_of(r) : 0;
    const double low = thresholds.low[r].second;
    band.low.push_back(thresholds.use_deviation ? held(mean - low) : low);
    band.high.push_back(held(mean + thresholds.high[r].second));
    const double width = band.high[r] - band.low[r];
    band.level.push_back(band.high[r] - width * kPartKept);
    band.no_taint_below.push_back(band.low[r] + width * kPartWelcome);
  }
  return band;
}

void level_load(const StrategyContext& context, NominationSink& sink, const MeasuredLoad& load, const PoolNodes& pool,
                const LowNodeUtilization& args, bool soft_taint, NodeClassification& classes) {
  Leveller(context, load, pool).run(sink, args, soft_taint, classes);
}

}  // namespace strategies
