/// WavePlanner: fills free capacity as exactly as the scheduler's choices allow. The scheduler mostly picks the
/// emptiest node, so the planner cannot choose where a pod goes, only which pod goes next: pods of other sizes leave
/// other remainders, and pods of other owners are spread differently.

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/defragmentation/wave_planner.hpp"

namespace strategies {
namespace {

constexpr double kExact = 1e-6;  // share of a node that counts as nothing
constexpr double kStrict = 0.1;  // maximum waste per unit of pod size while pods with less waste exist
constexpr double kLenient = 1e9;
constexpr std::size_t kStepsOfNode = 4;  // steps per node for one prediction of the scheduler's choice
constexpr std::size_t kMaxGaps = 8;      // maximum failures per wave
constexpr int kMaxTries = 12;            // maximum attempts for one gap
constexpr std::size_t kLooksOfNode = 200;
constexpr std::size_t kLooksOfStep = 4;
constexpr int kMaxWaves = 64;
constexpr std::size_t kPodsOfStep = 16;  // pods per step when a wave copies their positions

}  // namespace

/// Returns the node's free capacity minus headroom, as shares of its allocatable, after `pod` has arrived. With kNoPod
/// no pod arrives.
WavePlanner::FreeShare WavePlanner::free_beside(NodeIndex node, PodIndex pod) const {
  const auto& base = problem_.base();
  const auto share = [&](ResourceIndex resource) {
    const std::int64_t all = base.allocatable().get(node, resource);
    if (all <= 0) return 0.0;
    std::int64_t free = saturating_subtract(cluster().free(node, resource), problem_.headroom(node, resource));
    if (pod != kNoPod) free = saturating_subtract(free, amount_of(base.requests(pod), resource));
    return static_cast<double>(free) / static_cast<double>(all);
  };
  return {share(kCpuIndex), share(kMemoryIndex)};
}

/// Waste of a remainder. A remainder too small for most pods is lost entirely; a larger one may be filled by another
/// pod.
double WavePlanner::waste_of(double free_share) const {
  if (free_share < kExact) return 0;
  const double small = problem_.small_size();
  return free_share < small * (1 - kExact) ? free_share : small * style_.open;
}

/// Classes of the pods on nodes to be emptied.
std::vector<WavePlanner::PodClass> WavePlanner::pod_classes() {
  std::vector<PodClass> all;
  std::map<PodKind, std::size_t> known;
  for (const FreeableNode& each : problem_.freeable()) {
    if (!emptying_[each.node]) continue;
    for (const PodIndex pod : problem_.pods_on(each.node)) {
      if (cluster().node_of(pod) != each.node) continue;
      const auto kind = kind_of(pod, problem_.base());
      const auto [at, is_new] = kind ? known.try_emplace(*kind, all.size()) : std::pair(known.end(), true);
      if (is_new) all.push_back({{}, problem_.size(pod) * rng_.about_one(style_.noise)});
      all[is_new ? all.size() - 1 : at->second].pods.push_back(pod);
    }
  }
  return all;
}

/// Predicts the node that the scheduler would choose now, and how much of the capacity there would be wasted.
std::optional<std::pair<NodeIndex, double>> WavePlanner::predict(PodIndex pod, const Wave& wave) {
  budget_.spend(kStepsOfNode * problem_.base().node_count());
  if (!fits_somewhere(pod)) return std::nullopt;
  const auto to = placement_->relocate(pod, goal_of(pod));
  if (!to) return std::nullopt;
  const double share = free_beside(*to, kNoPod).least();
  placement_->restore(pod);
  if (share < -kExact || wave.is_left[*to] != 0) return std::nullopt;
  return std::pair(*to, waste_of(share));
}

void WavePlanner::predict(PodClass& pod_class, const Wave& wave) {
  const auto found = predict(pod_class.pods.back(), wave);
  pod_class.to.reset();
  if (!found) return;
  pod_class.to = found->first;
  pod_class.waste = found->second / std::max(pod_class.size, kExact);
}

/// Moves pods with the least waste first; among equal ones the largest.
void WavePlanner::fill_gaps(Wave& wave, std::vector<PodClass>& pod_classes, double most_waste) {
  for (PodClass& each : pod_classes) {
    if (!each.to && !budget_.is_over()) predict(each, wave);
  }
  const auto rank = [](const PodClass& each) { return std::pair(each.waste, -each.size); };
  while (!budget_.is_over()) {
    PodClass* best = nullptr;
    for (PodClass& each : pod_classes) {
      if (each.to && each.waste <= most_waste && (best == nullptr || rank(each) < rank(*best))) best = &each;
    }
    if (best == nullptr) return;
    const double before = best->waste;
    predict(*best, wave);
    if (!best->to || best->waste > before + kExact) continue;
    const PodIndex pod = best->pods.back();
    if (!counts_.allows(pod) || !relocate(pod, {pod, cluster().node_of(pod), *best->to, false}, wave)) {
      best->to.reset();
      continue;
    }
    best->pods.pop_back();
    if (best->pods.empty()) std::erase_if(pod_classes, [](const PodClass& each) { return each.pods.empty(); });
  }
}

/// Pods that could leave each node and where the scheduler would put them, cached from their last prediction in this
/// wave.
class WavePlanner::TargetForecast {
 public:
  /// Represents the pods of one kind on a node.
  struct Displaceable {
    PodIndex pod;
    double cpu;  ///< share of the node's allocatable
    double memory;
    std::uint32_t kind;
  };
  static constexpr double kNowhere = std::numeric_limits<double>::max();

  TargetForecast(WavePlanner& realization, const Wave& wave)
      : realization_(realization), wave_(wave), displaceables_(realization.problem_.base().node_count()) {}

  /// Returns the pods that could leave the node, largest first.
  const std::vector<Displaceable>& displaceables(NodeIndex node) {
    if (!displaceables_[node]) displaceables_[node] = find_displaceables(node);
    return *displaceables_[node];
  }
  /// Waste caused elsewhere if the pod leaves the node.
  double waste(const Displaceable& displaceable, NodeIndex on) {
    std::optional<Found>& known = found_[displaceable.kind];
    if (!known) known = look(displaceable.pod);
    return waste_elsewhere(*known, on);
  }
  /// Like waste(), with a new prediction.
  double waste_now(const Displaceable& displaceable, NodeIndex on) {
    found_[displaceable.kind] = look(displaceable.pod);
    return waste(displaceable, on);
  }

 private:
  struct Found {
    NodeIndex to = kNoNode;
    double waste = kNowhere;
  };

  Found look(PodIndex pod) const {
    const auto found = realization_.predict(pod, wave_);
    return found ? Found{found->first, found->second} : Found{};
  }
  double waste_elsewhere(const Found& found, NodeIndex on) const {
    return found.to == kNoNode || found.to == on || wave_.reserved[found.to] > 0 ? kNowhere : found.waste;
  }

  std::vector<Displaceable> find_displaceables(NodeIndex node) {
    const DefragmentationProblem& problem = realization_.problem_;
    const auto& base = problem.base();
    const auto share = [&](PodIndex pod, ResourceIndex resource) {
      const auto all = static_cast<double>(base.allocatable().get(node, resource));
      return all <= 0 ? 0 : static_cast<double>(amount_of(base.requests(pod), resource)) / all;
    };
    std::vector<Displaceable> found;
    for (const PodIndex pod : problem.pods_on(node)) {
      if (realization_.cluster().node_of(pod) != node || realization_.cluster().is_moved(pod)) continue;
      if (!problem.may_move(pod) || !realization_.counts_.allows(pod)) continue;
      const std::uint32_t kind = number_of(pod);
      if (std::ranges::find(found, kind, &Displaceable::kind) != found.end()) continue;
      found.push_back({pod, share(pod, kCpuIndex), share(pod, kMemoryIndex), kind});
    }
    return found;
  }

  std::uint32_t number_of(PodIndex pod) {
    const auto next = static_cast<std::uint32_t>(found_.size());
    const auto kind = kind_of(pod, realization_.problem_.base());
    const auto [at, is_new] = kind ? numbers_.try_emplace(*kind, next) : std::pair(numbers_.end(), true);
    if (is_new) found_.emplace_back();
    return is_new ? next : at->second;
  }

  WavePlanner& realization_;
  const Wave& wave_;
  std::vector<std::optional<std::vector<Displaceable>>> displaceables_;  ///< indexed by node
  std::map<PodKind, std::uint32_t> numbers_;
  std::vector<std::optional<Found>> found_;  ///< indexed by kind
};

/// Pods that leave a node to make capacity for another pod.
struct WavePlanner::Gap {
  NodeIndex node = kNoNode;
  std::vector<TargetForecast::Displaceable> by{};
  double waste = TargetForecast::kNowhere;
};

/// Searches for pods of one node that free the capacity that a pod needs and cause little waste elsewhere.
class WavePlanner::GapSearch {
 public:
  GapSearch(WavePlanner& realization, PodIndex pod, TargetForecast& forecast)
      : realization_(realization),
        foresight_(forecast),
        pod_(pod),
        size_(realization.problem_.size(pod)),
        price_(realization.style_.price * realization.problem_.small_size()) {}

  const Gap& best() const { return best_; }

  void look_at(NodeIndex node) {
    const FreeShare room = realization_.free_beside(node, pod_);
    if (room.least() > -kExact) return;  // other nodes attract the pod more
    node_ = node;
    displaceables_ = &foresight_.displaceables(node);
    looks_ = kLooksOfNode;
    choose(0, 0, room);
    realization_.budget_.spend(1 + (kLooksOfNode - looks_) / kLooksOfStep);
  }

 private:
  /// Recursively adds one more pod, from position `next` on, to those already chosen, which waste `waste` in total.
  void choose(std::size_t next, double waste, const FreeShare& room) {
    for (; next < displaceables_->size() && looks_ > 0; ++next) {
      --looks_;
      const TargetForecast::Displaceable& displaceable = (*displaceables_)[next];
      if (realization_.problem_.size(displaceable.pod) >= size_) continue;
      const FreeShare more{room.cpu + displaceable.cpu, room.memory + displaceable.memory};
      const bool is_enough = more.least() > -kExact;
      const double rest = is_enough ? realization_.waste_of(more.least()) : 0;
      if (waste + price_ + rest >= best_.waste || (!is_enough && by_.size() + 1 >= realization_.style_.ejected))
        continue;
      const double sum = waste + price_ + foresight_.waste(displaceable, node_);
      if (sum + rest >= best_.waste) continue;
      by_.push_back(displaceable);
      if (is_enough) {
        best_ = {node_, by_, sum + rest};
      } else {
        choose(next + 1, sum, more);
      }
      by_.pop_back();
    }
  }

  WavePlanner& realization_;
  TargetForecast& foresight_;
  PodIndex pod_;
  double size_;
  double price_;  ///< cost of a move, expressed as waste
  NodeIndex node_ = kNoNode;
  const std::vector<TargetForecast::Displaceable>* displaceables_ = nullptr;
  std::vector<TargetForecast::Displaceable> by_;  ///< pods chosen to leave
  std::size_t looks_ = 0;
  Gap best_{};
};

WavePlanner::Gap WavePlanner::find_gap(PodIndex pod, const Wave& wave, TargetForecast& forecast) {
  GapSearch search(*this, pod, forecast);
  const FitQuery query(cluster(), pod, FitLevel::kScheduler);
  budget_.spend(problem_.base().node_count());
  for (const NodeIndex node : problem_.taking()) {
    if (budget_.is_over()) break;
    if (may_take_pods_[node] && wave.is_left[node] == 0 && wave.reserved[node] == 0 &&
        !query.refusal_ignoring_capacity(node))
      search.look_at(node);
  }
  return search.best();
}

/// Makes some pods leave a node so that its free capacity fits the pod. Returns false if no gap was found.
bool WavePlanner::make_gap(PodIndex pod, Wave& wave, TargetForecast& forecast) {
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const Gap gap = find_gap(pod, wave, forecast);
    if (gap.by.empty()) return false;
    const auto goes_as_foreseen = [&](const TargetForecast::Displaceable& displaceable) {
      const double before = forecast.waste(displaceable, gap.node);
      return forecast.waste_now(displaceable, gap.node) <= before + kExact;
    };
    if (!std::ranges::all_of(gap.by, goes_as_foreseen)) continue;
    ++wave.reserved[gap.node];
    for (const TargetForecast::Displaceable& displaceable : gap.by) {
      if (!relocate(displaceable.pod, {displaceable.pod, gap.node, kNoNode, false}, wave)) break;
    }
    return true;
  }
  return false;
}

/// Makes gaps for pods without a place, largest first.
void WavePlanner::make_gaps(Wave& wave, const std::vector<PodClass>& pod_classes) {
  std::vector<std::pair<double, const PodClass*>> waiting;
  for (const PodClass& each : pod_classes) {
    if (!each.pods.empty() && !each.to) waiting.emplace_back(-each.size, &each);
  }
  std::ranges::stable_sort(waiting, {}, [](const auto& each) { return each.first; });
  TargetForecast forecast(*this, wave);
  std::size_t failures = 0;
  for (const auto& [size, pod_class] : waiting) {
    for (const PodIndex pod : pod_class->pods) {
      if (failures == kMaxGaps || budget_.is_over()) return;
      if (make_gap(pod, wave, forecast)) continue;
      ++failures;
      break;
    }
  }
}

/// Runs one wave. Returns the number of moves.
std::size_t WavePlanner::fill_wave(std::vector<PodClass>& pod_classes, double most_waste) {
  Wave wave(cluster());
  budget_.spend(problem_.base().pod_table_size() / kPodsOfStep);
  ++wave_;
  const std::size_t before = moves_.size();
  fill_gaps(wave, pod_classes, most_waste);
  make_gaps(wave, pod_classes);
  if (moves_.size() == before) --wave_;
  return moves_.size() - before;
}

/// Runs waves, first with strict limits on waste, then without.
void WavePlanner::fill(std::size_t most_moves) {
  std::vector<PodClass> pods = pod_classes();
  double most_waste = kStrict;
  for (int waves = 0; waves < kMaxWaves && !pods.empty() && !budget_.is_over() && moves_.size() <= most_moves;
       ++waves) {
    if (fill_wave(pods, most_waste) > 0) {
      most_waste = kStrict;
    } else if (std::exchange(most_waste, kLenient) == kLenient) {
      return;
    }
  }
}

}  // namespace strategies
