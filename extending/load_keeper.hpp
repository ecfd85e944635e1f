#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/core/kinds.hpp"
#include "base/clock.hpp"
#include "extending/load_board.hpp"

namespace extending {

/// The load of nodes as it will be once the pods that were just placed are measured: each of them counts with what pods
/// of its workload use, else with its requests, until the source knows it. Memory: the pods that were placed within
/// kPlacedFor. Thread-safe; no call waits for anything but the others.
class LoadKeeper {
 public:
  /// A pod that is not measured after so long never will be.
  static constexpr base::minutes kPlacedFor{15};
  /// A sample that is taken so shortly after a pod's start hardly shows it. For sources that know nodes only.
  static constexpr base::seconds kWarmUp{120};
  /// A pod that the scheduler was told a node for shows there within this time, or went elsewhere.
  static constexpr base::seconds kExpectedFor{5};
  static constexpr std::size_t kMostPlaced = 50'000;

  explicit LoadKeeper(std::vector<std::string> resources) : resources_(std::move(resources)) {}

  const std::vector<std::string>& resources() const { return resources_; }

  /// What is measured from now on. REQUIRES: made for resources().
  void replace(std::shared_ptr<const LoadBoard> board, base::TimePoint now);
  std::shared_ptr<const LoadBoard> board() const;

  /// As the informer of pods tells: nullptr for what was not there, or is not there any more.
  void on_pod(const api::Pod* before, const api::Pod* after, base::TimePoint now);
  /// The scheduler was told that `node` is the best for that pod: it counts there until it shows up somewhere.
  void expect(const api::Pod& pod, const std::string& node, base::TimePoint now);

  /// The loads of these nodes if `pod` came to each of them; it does not count twice. `with_pod` false: without it.
  /// nullopt: unknown.
  std::vector<std::optional<NodeLoad>> loads(const std::vector<std::string>& nodes, const api::Pod& pod, bool with_pod,
                                             base::TimePoint now);

  std::size_t placed() const;

 private:
  struct Placed {
    std::string node;
    std::string ns;
    std::string name;
    std::string owner;  ///< UID of its controller
    std::vector<double> amounts;
    std::vector<double> requested;
    base::TimePoint since;
    bool is_expected = false;  ///< not seen there yet
  };
  using Amounts = std::vector<double>;
  // REQUIRES, of all of these: mutex_ is held.
  Amounts amounts_of(const std::string& owner, const Amounts& requested) const;
  Amounts requests_of(const api::Pod& pod) const;
  void put(const api::Pod& pod, const std::string& node, base::TimePoint since, bool is_expected);
  void drop(const std::string& uid);
  void add(const std::string& node, const Amounts& amounts, double sign);
  bool is_over(const Placed& placed, base::TimePoint now) const;
  void tidy(base::TimePoint now);

  const std::vector<std::string> resources_;
  mutable std::mutex mutex_;
  std::shared_ptr<const LoadBoard> board_;          ///< nullptr: nothing is measured yet
  std::unordered_map<std::string, Placed> placed_;  ///< by UID of the pod
  std::unordered_map<std::string, Amounts> sums_;   ///< of placed_, by node
  base::TimePoint tidied_{};
};

}  // namespace extending
