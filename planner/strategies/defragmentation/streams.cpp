/// DefragmentationSearch: the part that several threads share (ADR 22).

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "planner/strategies/defragmentation/search.hpp"

namespace strategies {
namespace {

constexpr std::size_t kStreams = 4;  // per search; independent of the number of cores, on which plans must not depend
constexpr std::int64_t kMaxRounds = 8;    // after each round, streams continue from the best plan
constexpr std::int64_t kShares = 2;       // streams' share of the steps, assuming that two run at a time
constexpr std::int64_t kMinAttempts = 2;  // minimum attempts from scratch that a stream's steps must allow

/// A separate search with its own cluster, budget and random generator.
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
  /// Keeps a plan of the same value, so that the streams search different neighborhoods.
  void go_on_from(const SearchState& state, bool is_gain) {
    if (search_.is_behind(state)) search_.take(state);
    if (is_gain) failures_ = 0;
  }

 private:
  WhatIf cluster_;
  DefragmentationProblem problem_;
  std::unique_ptr<WhatIfPlacement> origin_;
  SearchBudget budget_;
  DefragmentationSearch search_;
  int failures_ = 0;
};

}  // namespace

/// Runs all streams in concurrent rounds. After each round, streams that are behind continue from the best plan; among
/// equal plans that of the first stream.
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
