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
#include "cmd/extender/arrivals.hpp"
#include "cmd/extender/load_model.hpp"

namespace extending {

/// The load of nodes as it will be once the pods that were just placed are measured: each of them counts with what pods
/// of its workload use, else with the share of its requests that pods use, as far as the node's samples do not show it
/// yet (cmd/extender/arrivals.hpp). Memory: the pods that were placed within kPlacedFor, and a number for each workload
/// and node of its pods. Thread-safe; no call waits for anything but the others.
class LoadPoller {
 public:
  /// Samples of before a pod are not kept for longer; one that does not run after so long never will.
  static constexpr base::minutes kPlacedFor{20};
  /// A pod that the scheduler was told a node for shows there within this time, or went elsewhere.
  static constexpr base::seconds kExpectedFor{15};
  static constexpr std::size_t kMaxPlaced = 50'000;

  explicit LoadPoller(std::vector<std::string> resources) : resources_(std::move(resources)) {}

  const std::vector<std::string>& resources() const { return resources_; }

  /// What is measured from now on. REQUIRES: made for resources().
  void replace(std::shared_ptr<const LoadModel> board, base::TimePoint now);
  std::shared_ptr<const LoadModel> board() const;

  /// As the informer of pods tells: nullptr for what was not there, or is not there any more.
  void on_pod(const api::Pod* before, const api::Pod* after, base::TimePoint now);
  /// The scheduler is likely to send that pod to `node`: it counts there until it shows up somewhere.
  void expect(const api::Pod& pod, const std::string& node, base::TimePoint now);

  /// The loads of these nodes if `pod` came to each of them; it does not count twice. `with_pod` false: without it.
  /// nullopt: unknown.
  std::vector<std::optional<NodeLoad>> loads(const std::vector<std::string>& nodes, const api::Pod& pod, bool with_pod,
                                             base::TimePoint now);

  /// Pods of the same workload on each of these nodes, expected ones too, without `pod`.
  std::vector<std::size_t> siblings(const std::vector<std::string>& nodes, const api::Pod& pod) const;

  std::size_t placed() const;

 private:
  using Amounts = std::vector<double>;
  struct Placed {
    std::string node;
    std::string ns;
    std::string name;
    std::string owner;  ///< UID of its controller
    Amounts requested;
    Arrival arrival;
    base::TimePoint since{};
    bool is_expected = false;  ///< not seen there yet
  };
  struct Site {
    std::vector<std::string> pods;  ///< UIDs of placed_, in the order they came
    std::optional<NodeLoad> load;   ///< with them; absent: to be reckoned anew
  };
  // REQUIRES, of all of these: mutex_ is held.
  Amounts expected_of(const std::string& owner, const Amounts& requested) const;
  void put(const api::Pod& pod, const std::string& node, base::TimePoint since, bool is_expected);
  void drop(const std::string& uid);
  void erase_over(base::TimePoint now);
  /// `by`: 1 or -1, of pods of the workload on the node. Pods without a workload have no siblings.
  void count(const std::string& owner, const std::string& node, std::ptrdiff_t by);
  void run(const api::Pod& pod, base::TimePoint now);
  void measure(Placed& placed) const;
  bool is_over(const Placed& placed, base::TimePoint now) const;
  /// nullptr: there is no board, or no good figure of the node.
  const LoadModel::Node* known(const std::string& node) const;
  void tidy(base::TimePoint now);
  /// Without that pod. REQUIRES: there is a board that knows the node.
  NodeLoad load_of(const Site& site, const LoadModel::Node& node, const std::string& without) const;
  NodeLoad load_of(const std::string& name, const LoadModel::Node& node, const std::string& without);

  const std::vector<std::string> resources_;
  mutable std::mutex mutex_;
  std::shared_ptr<const LoadModel> board_;          ///< nullptr: nothing is measured yet
  std::unordered_map<std::string, Placed> placed_;  ///< by UID of the pod
  std::unordered_map<std::string, Site> sites_;     ///< by node
  /// Pods that are bound or expected, by UID of their controller and then by node.
  std::unordered_map<std::string, std::unordered_map<std::string, std::size_t>> siblings_;
  base::TimePoint tidied_{};
};

}  // namespace extending
