#pragma once

/// Builds the adverse clusters: nodes of any shape, and pods that are added while they fit.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "test/builders/cluster.hpp"
#include "test/scenarios/fragmentation/random.hpp"

namespace fragmentation {

inline constexpr std::int64_t kMebi = std::int64_t{1} << 20;
inline constexpr std::int64_t kGibi = std::int64_t{1} << 30;

/// A node of the site.
struct Machine {
  std::int64_t cpu = 16000;  ///< millicores
  std::int64_t memory = 64 * kGibi;
  int pods = 110;
  int zones = 3;                  ///< number of zones, to which nodes are assigned in turn
  std::string label{};            ///< "key=value", empty if none
  std::string taint{};            ///< key of a taint; only pods that tolerate it may be added; empty if none
  std::string extended{};         ///< extended resource of some nodes, empty if none
  std::int64_t extended_units{};  ///< units of the extended resource
};

/// Requests of a pod.
struct Size {
  std::int64_t cpu = 0;  ///< millicores
  std::int64_t memory = 0;
};

/// A cluster under construction. Deterministic: equal calls give equal clusters.
class Site {
 public:
  using Change = std::function<void(builders::PodBuilder&)>;

  explicit Site(std::uint64_t seed) : random_(seed) {}

  Random& random() { return random_; }
  int nodes() const { return static_cast<int>(places_.size()); }
  static std::string zone_of(int node, int zones = 3) { return "z" + std::to_string(node % zones); }

  void add_node(const Machine& machine);
  void add_nodes(int count, const Machine& machine = {});
  /// Adds a pod of a DaemonSet that tolerates all taints.
  void add_daemon(int node, const std::string& app, Size size);
  void add_daemon_everywhere(const std::string& app, Size size);
  /// Adds an ordinary pod of a ReplicaSet, with the label app=`app`. REQUIRES: the pod fits.
  void add(int node, const std::string& app, Size size, const Change& change = {});
  /// Adds a budget for the pods of each existing app that allows `allowed` concurrent evictions.
  void add_budgets(int allowed);

  bool fits(int node, Size size) const;
  /// Returns the larger of the used shares of CPU and memory.
  double load(int node) const;
  double cpu_load(int node) const;
  /// Returns the number of pods of `app` on the node.
  int count(int node, const std::string& app) const;

  scheduling::SnapshotInput input() const { return cluster_.input(); }

 private:
  struct Place {
    Machine machine;
    Size taken{};
    int pods = 0;
    std::map<std::string, int> apps{};
  };

  void share_affinity(builders::PodBuilder& pod);
  void put(int node, const std::string& app, Size size, builders::PodBuilder pod);
  const api::StringMap& labels_of(const std::string& app);

  Random random_;
  int named_ = 0;
  std::vector<Place> places_;
  // Shared between pods, as the decoder of a dump does.
  std::map<std::string, api::StringMap> labels_;  ///< by app
  std::vector<std::shared_ptr<const api::Affinity>> affinities_;
  builders::ClusterBuilder cluster_;
};

// --- requirements of pods in addition to their size

/// Adds a required anti-affinity to pods with this label in the same domain.
Site::Change apart_from(const std::string& label, const std::string& value, std::string_view topology);
/// Adds a required affinity to pods of `app`.
Site::Change together_with(const std::string& app);
/// Adds a spread constraint with a maximum skew of one for each of the topologies.
Site::Change spread_over(const std::string& app, const std::vector<std::string_view>& topologies);
Site::Change on_port(int port);
Site::Change with_extended(const std::string& resource, std::int64_t units);
/// Adds a node selector.
Site::Change selecting(const std::string& key, const std::string& value);
Site::Change tolerating(const std::string& key);
/// Adds a required node affinity.
Site::Change in_zones(std::vector<std::string> zones);
Site::Change all_of(std::vector<Site::Change> changes);

}  // namespace fragmentation
