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
#include "cmd/extender/load_model.hpp"

namespace extender {

/// A pod that arrived on a node. Amounts are in thousandths, indexed by resource of the LoadModel.
struct Arrival {
  std::optional<base::TimePoint> running;  ///< start of the containers, nullopt if not started yet
  std::vector<double> expected;            ///< expected usage
  std::vector<double> measured;            ///< usage in the newest response; negative if the response has none
};

/// Predicts the load of nodes including recently placed pods that samples do not show yet.
/// Such a pod is assumed to use as much as other pods of its workload, else the cluster's average share of its
/// requests. Memory: pods placed within kPlacedFor, and one counter per workload and node of its pods. Thread-safe;
/// calls block only on each other.
class LoadPoller {
 public:
  /// Retention of a placed pod. Samples from before the pod are dropped by then, and a pod not running by then is not
  /// expected to run.
  static constexpr base::minutes kPlacedFor{20};
  /// Time within which a pod appears on the node returned to the scheduler. Afterwards it is assumed to have gone
  /// elsewhere.
  static constexpr base::seconds kExpectedFor{15};
  static constexpr std::size_t kMaxPlaced = 50'000;

  explicit LoadPoller(std::vector<std::string> resources) : resources_(std::move(resources)) {}

  const std::vector<std::string>& resources() const { return resources_; }

  /// Replaces the load model. REQUIRES: `board` was built for resources().
  void replace(std::shared_ptr<const LoadModel> board, base::TimePoint now);
  std::shared_ptr<const LoadModel> board() const;

  /// Handles a pod informer event. `before` is nullptr for a new pod, `after` for a deleted one.
  void on_pod(const api::Pod* before, const api::Pod* after, base::TimePoint now);
  /// Counts the pod on `node` until the pod appears on a node or kExpectedFor has passed.
  void expect(const api::Pod& pod, const std::string& node, base::TimePoint now);

  /// Returns the predicted loads of these nodes, nullopt if unknown. With `with_pod` the pod is added to each node,
  /// otherwise excluded; it is never counted twice.
  std::vector<std::optional<NodeLoad>> loads(const std::vector<std::string>& nodes, const api::Pod& pod, bool with_pod,
                                             base::TimePoint now);

  /// Returns the number of other pods of the same workload on each of these nodes, including expected ones.
  std::vector<std::size_t> siblings(const std::vector<std::string>& nodes, const api::Pod& pod) const;

  std::size_t placed() const;

 private:
  using Amounts = std::vector<double>;
  struct Placed {
    std::string node;
    std::string ns;
    std::string name;
    std::string owner;  ///< UID of the pod's controller
    Amounts requested;
    Arrival arrival;
    base::TimePoint since{};
    bool is_expected = false;  ///< not bound to the node yet
  };
  struct Site {
    std::vector<std::string> pods;  ///< UIDs of placed_, in order of arrival
    std::optional<NodeLoad> load;   ///< includes the placed pods; nullopt if it must be recomputed
  };
  // REQUIRES for all of the following: mutex_ is held.
  Amounts expected_of(const std::string& owner, const Amounts& requested) const;
  void put(const api::Pod& pod, const std::string& node, base::TimePoint since, bool is_expected);
  void drop(const std::string& uid);
  void drop_settled(base::TimePoint now);
  /// Adds `by` (1 or -1) to the number of pods of the workload on the node. No-op for pods without a workload.
  void count(const std::string& owner, const std::string& node, std::ptrdiff_t by);
  void run(const api::Pod& pod, base::TimePoint now);
  void measure(Placed& placed) const;
  bool is_over(const Placed& placed, base::TimePoint now) const;
  /// Returns nullptr without a load model or without valid values for the node.
  const LoadModel::Node* known(const std::string& node) const;
  void drop_expired(base::TimePoint now);
  /// Returns the load excluding the pod `without`. REQUIRES: the load model contains the node.
  NodeLoad load_of(const Site& site, const LoadModel::Node& node, const std::string& without) const;
  NodeLoad load_of(const std::string& name, const LoadModel::Node& node, const std::string& without);

  const std::vector<std::string> resources_;
  mutable std::mutex mutex_;
  std::shared_ptr<const LoadModel> board_;          ///< nullptr until the first measurement
  std::unordered_map<std::string, Placed> placed_;  ///< by UID of the pod
  std::unordered_map<std::string, Site> sites_;     ///< by node
  /// Number of bound or expected pods, by UID of their controller and then by node.
  std::unordered_map<std::string, std::unordered_map<std::string, std::size_t>> siblings_;
  base::TimePoint last_drop_{};
};

}  // namespace extender
