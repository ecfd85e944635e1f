#include "planner/strategies/load/measured_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strategies {
namespace {

constexpr std::size_t kMaxNamed = 5;

}  // namespace

MeasuredLoad::MeasuredLoad(const StrategyContext& context, const MeasuredUsage& measured, const UsageArgs& args,
                           std::vector<std::string> resources)
    : context_(context),
      cluster_(context.cluster.base()),
      measured_(measured),
      args_(args),
      resources_(std::move(resources)),
      lower_(measured, context.cluster, {.figure = MeasuredView::Figure::kLower, .forecast = args.forecast},
             context.measured_entries),
      higher_(lower_.by(MeasuredView::Figure::kHigher)),
      staying_(lower_, context.cluster, is_leaving) {}

std::optional<LoadTable> MeasuredLoad::usual(std::span<const NodeIndex> nodes) const {
  if (measured_.pod_means.empty()) return std::nullopt;
  if (!usual_) usual_ = context_.means;
  if (!usual_)
    usual_ = std::make_shared<const MeasuredView>(measured_, context_.cluster, MeasuredView::Options{.by_means = true},
                                                  context_.measured_entries);
  return LoadTable(cluster_, *usual_, resources_, nodes);
}

void MeasuredLoad::compare_forecasts_among(std::span<const NodeIndex> nodes) {
  lower_.compare_forecasts_among(nodes);
  higher_.compare_forecasts_among(nodes);
}

/// Returns nullopt if unknown, and LoadTable::kNone if the node has none of the resource. A counted resource has its
/// current value.
std::optional<double> MeasuredLoad::percentage(NodeIndex node, std::size_t resource,
                                               std::span<const std::int64_t> amounts) const {
  const std::string& name = resources_[resource];
  const std::int64_t capacity = capacity_in(cluster_, lower_, node, name).value_or(0);
  if (capacity <= 0) return LoadTable::kNone;
  if (const auto column = lower_.column_of(name))
    return *column < amounts.size() ? lower_.percent_of(node, *column, amounts[*column]) : std::nullopt;
  const auto used = lower_.of_node(node, name);
  if (!used) return std::nullopt;
  return static_cast<double>(*used) / static_cast<double>(capacity) * 100;
}

/// Returns false if an amount is unknown or `says` returns false.
bool MeasuredLoad::holds(NodeIndex node, std::span<const std::int64_t> amounts, const Says& says) const {
  constexpr std::size_t kUsual = 8;
  std::array<double, kUsual> few{};
  std::vector<double> many(resources_.size() > kUsual ? resources_.size() : 0);
  const std::span<double> percents = many.empty() ? std::span(few).first(resources_.size()) : std::span(many);
  for (std::size_t r = 0; r < percents.size(); ++r) {
    const auto percent = percentage(node, r, amounts);
    if (!percent) return false;
    percents[r] = *percent;
  }
  return says(percents);
}

bool MeasuredLoad::is_foreseen(NodeIndex node, const Says& says) const {
  const auto* const entry = lower_.entry_of(node);
  if (!args_.forecast || entry == nullptr || entry->foreseen.empty()) return false;
  std::vector<std::int64_t> foreseen(entry->foreseen.size());
  for (std::size_t c = 0; c < foreseen.size(); ++c) foreseen[c] = lower_.foreseen_of(node, c);
  return holds(node, foreseen, says);
}

bool MeasuredLoad::confirms(NodeIndex node, const Says& says) const {
  const auto* const entry = lower_.entry_of(node);
  if (entry == nullptr) return false;
  const std::size_t columns = measured_.resources.size();
  const std::size_t count = columns == 0 ? 0 : entry->samples.size() / columns;
  if (count == 0 || is_foreseen(node, says)) return true;
  const std::span<const std::int64_t> samples(entry->samples);
  std::int32_t confirmed = 0;
  const std::size_t looked_at = std::min(count, static_cast<std::size_t>(args_.of));
  for (std::size_t i = 0; i < looked_at; ++i) {  // the newest first
    const bool says_so = holds(node, samples.subspan((count - 1 - i) * columns, columns), says);
    if (i == 0 && !says_so) return args_.samples == 0;
    if (says_so) ++confirmed;
  }
  return confirmed >= args_.samples;
}

std::string MeasuredLoad::complaint_about(NodeIndex node) const {
  const auto* const entry = lower_.entry_of(node);
  const std::string why = entry == nullptr          ? "no sample"
                          : !entry->problem.empty() ? entry->problem
                                                    : "no value for some resources";
  return fmt::format("{} ({})", cluster_.node(node).meta.name, why);
}

base::Status MeasuredLoad::check_known(std::span<const NodeIndex> nodes) const {
  for (const std::string& resource : resources_) {
    if (resource == "pods" || lower_.column_of(resource)) continue;
    return base::unavailable(fmt::format("usage source {} does not measure {}", measured_.source, resource));
  }
  const LoadTable table = giving(nodes);
  const std::vector<NodeIndex>& unknown = table.unknown();
  if (unknown.size() * 100 <= static_cast<std::size_t>(std::max(measured_.max_unknown_percent, 0)) * nodes.size())
    return base::Done{};
  std::string named;
  for (std::size_t i = 0; i < std::min(unknown.size(), kMaxNamed); ++i)
    named += (i == 0 ? "" : ", ") + complaint_about(unknown[i]);
  return base::unavailable(fmt::format(
      "usage source {}: {} of {} nodes have no usable sample, the maximum is {} %: {}{}", measured_.source,
      unknown.size(), nodes.size(), measured_.max_unknown_percent, named, unknown.size() > kMaxNamed ? ", …" : ""));
}

}  // namespace strategies
