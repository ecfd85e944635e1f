#pragma once

/// What the adverse clusters are built from: nodes of any shape, and pods that are put on them while there is room.

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
  std::int64_t cpu = 16000;  ///< in thousandths
  std::int64_t memory = 64 * kGibi;
  int pods = 110;
  int zones = 3;                  ///< the nodes take turns with so many
  std::string label{};            ///< "key=value"; "": none
  std::string taint{};            ///< keeps pods off that do not tolerate this key; "": none
  std::string extended{};         ///< a resource that only some nodes have; "": none
  std::int64_t extended_units{};  ///< of it
};

/// What a pod asks for.
struct Size {
  std::int64_t cpu = 0;  ///< in thousandths
  std::int64_t memory = 0;
};

/// A cluster while it is built. The same calls make the same cluster.
class Site {
 public:
  using Change = std::function<void(builders::PodBuilder&)>;

  explicit Site(std::uint64_t seed) : random_(seed) {}

  Random& random() { return random_; }
  int nodes() const { return static_cast<int>(places_.size()); }
  static std::string zone_of(int node, int zones = 3) { return "z" + std::to_string(node % zones); }

  void add_node(const Machine& machine);
  void add_nodes(int count, const Machine& machine = {});
  /// A pod of a DaemonSet that tolerates all taints.
  void add_daemon(int node, const std::string& app, Size size);
  void add_daemon_everywhere(const std::string& app, Size size);
  /// An ordinary pod of a ReplicaSet, with the label app=`app`. REQUIRES: it fits.
  void add(int node, const std::string& app, Size size, const Change& change = {});
  /// A budget for the pods of each app so far that lets so many go at a time.
  void add_budgets(int allowed);

  bool fits(int node, Size size) const;
  /// The larger share of cpu and memory that is taken.
  double load(int node) const;
  double cpu_load(int node) const;
  /// Pods of `app` on the node.
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
  // Shared, as the decoder of a dump would.
  std::map<std::string, api::StringMap> labels_;  ///< by app
  std::vector<std::shared_ptr<const api::Affinity>> affinities_;
  builders::ClusterBuilder cluster_;
};

// --- what pods may ask for beside their size

/// No other pod with the label where this one is.
Site::Change apart_from(const std::string& label, const std::string& value, std::string_view topology);
/// Only beside a pod of `app`.
Site::Change together_with(const std::string& app);
/// At most one more in a domain than in any other, for each of the topologies.
Site::Change spread_over(const std::string& app, const std::vector<std::string_view>& topologies);
Site::Change on_port(int port);
Site::Change with_extended(const std::string& resource, std::int64_t units);
/// Only on nodes with this label.
Site::Change selecting(const std::string& key, const std::string& value);
Site::Change tolerating(const std::string& key);
/// Required node affinity.
Site::Change in_zones(std::vector<std::string> zones);
Site::Change all_of(std::vector<Site::Change> changes);

}  // namespace fragmentation
