/// DefragmentationSearch: the part of it that several threads can share (ADR 22).

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "planner/strategies/defragmentation/search.hpp"

namespace strategies {
namespace {

constexpr std::size_t kStreams = 4;  // of each search: never as many as there are cores, or plans would depend on that
constexpr std::int64_t kMaxRounds = 8;    // after each one all streams go on from the best plan of any
constexpr std::int64_t kShares = 2;       // of the steps, one for each stream: mostly two of them run at a time
constexpr std::int64_t kMinAttempts = 2;  // from the beginning, for which the steps of a stream are to do

/// A search of its own, with a cluster, a budget and chances of its own.
class Stream {
 public:
  Stream(const DefragmentationProblem& problem, const Capacities& capacities, const WhatIfPlacement& origin,
         bool chooses_targets, const SearchLimits& limits, std::uint64_t seed)
      : cluster_(problem.cluster().detached()),
        problem_(problem, cluster_),
        origin_(origin.detach()),
        budget_(0, limits.should_stop),
        search_(problem_, capacities, origin_.get(), chooses_targets, limits, budget_, seed) {}

  void run(std::int64_t steps, std::int64_t most_steps) {
    budget_.grant(steps);
    failures_ = search_.improve(most_steps, failures_);
  }
  bool has_more_to_try() const { return !search_.is_hopeless_after(failures_); }
  const SearchState& state() const { return search_.state(); }
  /// A plan that is worth as much stays: the streams are to look at different ones.
  void go_on_from(const SearchState& state, bool is_gain) {
    if (search_.is_behind(state)) search_.take(state);
    if (is_gain) failures_ = 0;
  }

 private:
  scheduling::WhatIf cluster_;
  DefragmentationProblem problem_;
  std::unique_ptr<WhatIfPlacement> origin_;
  SearchBudget budget_;
  DefragmentationSearch search_;
  int failures_ = 0;
};

}  // namespace

/// Rounds of all streams side by side. Those that are behind go on from the best plan: of equal ones that of the first
/// stream.
void DefragmentationSearch::improve_in_streams(std::int64_t steps, std::int64_t most_steps) {
  if (budget_.is_over()) return;
  problem_.judge_all();
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::size_t i = 0; i < kStreams; ++i) {
    streams.push_back(
        std::make_unique<Stream>(problem_, capacities_, *origin_, chooses_targets_, limits_, rng_.next()));
    streams.back()->go_on_from(state_, true);
  }
  const std::int64_t share = std::max(steps / kShares, std::min(steps, kMinAttempts * state_.steps_of_best));
  const std::int64_t rounds = std::clamp<std::int64_t>(share / most_steps, 1, kMaxRounds);
  std::vector<std::function<void()>> tasks;
  for (const auto& stream : streams) tasks.emplace_back([&] { stream->run(share / rounds, most_steps); });
  const auto has_more_to_try = [](const auto& stream) { return stream->has_more_to_try(); };
  for (std::int64_t round = 0; round < rounds && std::ranges::any_of(streams, has_more_to_try); ++round) {
    run_all(limits_.executor, tasks);
    bool is_gain = false;
    for (const auto& stream : streams) {
      if (!is_worse_than(stream->state())) continue;
      is_gain = is_gain || is_behind(stream->state());
      state_ = stream->state();
    }
    for (const auto& stream : streams) stream->go_on_from(state_, is_gain);
    if (budget_.is_over()) return;
  }
}

}  // namespace strategies
