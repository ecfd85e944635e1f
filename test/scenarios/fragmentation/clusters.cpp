#include "test/scenarios/fragmentation/clusters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "test/builders/cluster.hpp"
#include "test/scenarios/fragmentation/adverse/kinds.hpp"
#include "test/scenarios/fragmentation/random.hpp"

namespace fragmentation {
namespace {

using builders::NodeBuilder;
using builders::PodBuilder;

constexpr std::int64_t kGi = std::int64_t{1} << 30;
constexpr std::int64_t kCpu = 16000;
constexpr std::int64_t kMemory = 64 * kGi;
constexpr std::int64_t kAgentCpu = 100;
constexpr std::int64_t kLogsCpu = 300;
constexpr std::int64_t kFewSlots = 12;
constexpr int kApps = 40;

/// Differences between the kinds.
struct Shape {
  std::string_view name;
  int groups = 1;           ///< number of groups of pods with anti-affinity
  bool mixed_sizes = true;  ///< whether sizes differ; otherwise every pod requests one CPU
  bool loose = false;       ///< whether nodes with anti-affinity pods also have ordinary pods
  bool pools = false;       ///< whether every other node belongs to a pool that some pods select
  bool uneven = false;      ///< whether machines have four sizes
  bool spread = false;      ///< whether some apps are spread over zones
  bool budgets = false;     ///< whether PodDisruptionBudgets allow one or two evictions at a time
  bool tainted = false;     ///< whether a tenth of the nodes has a taint that some pods tolerate
  bool volumes = false;     ///< whether a pod of each node that is kept in use has a volume in its zone
  bool unmovable = false;   ///< whether a tenth of the nodes that are kept in use has bare pods
  bool zonal = false;       ///< whether the pods with anti-affinity are also spread over zones, with a skew of one
  bool peers = false;       ///< whether the first two groups also have an anti-affinity to each other
  bool stateful = false;  ///< whether the pods with anti-affinity belong to StatefulSets: the new pod is created after
                          ///< the old one is gone
  bool memory = false;    ///< whether memory is the scarce resource
  bool slots = false;     ///< whether the number of pods is the scarce resource
  bool agents = false;    ///< whether some nodes have additional DaemonSets
  bool small = false;     ///< whether full nodes contain many small pods
  bool priorities = false;  ///< whether pods have several priorities; some are system-critical and stay
  bool followers = false;   ///< whether some ordinary pods must be in the zone of another app
  double full = 0.5;        ///< fraction of full nodes
};

constexpr std::array kShapes = {
    Shape{.name = "classic", .mixed_sizes = false},
    Shape{.name = "sizes"},
    Shape{.name = "apps", .groups = 3},
    Shape{.name = "zones", .groups = 3, .pools = true},
    Shape{.name = "mixed", .groups = 3, .loose = true},
    Shape{.name = "groups", .groups = 6},
    Shape{.name = "uneven", .loose = true, .uneven = true},
    Shape{.name = "spread", .loose = true, .spread = true},
    Shape{.name = "budgets", .groups = 2, .budgets = true},
    Shape{.name = "tainted", .groups = 2, .loose = true, .tainted = true},
    Shape{.name = "volumes", .groups = 2, .volumes = true},
    Shape{.name = "unmovable", .groups = 2, .loose = true, .unmovable = true},
    Shape{.name = "crowded", .groups = 2, .full = 0.85},
    Shape{.name = "sparse", .groups = 2, .loose = true, .full = 0.2},
    Shape{.name = "nearly_full", .groups = 2, .loose = true, .full = 0.93},
    Shape{.name = "zonal", .groups = 2, .loose = true, .zonal = true},
    Shape{.name = "peers", .groups = 3, .peers = true},
    Shape{.name = "stateful", .groups = 2, .loose = true, .volumes = true, .stateful = true},
    Shape{.name = "memory", .groups = 2, .loose = true, .memory = true},
    Shape{.name = "slots", .groups = 2, .mixed_sizes = false, .loose = true, .slots = true},
    Shape{.name = "agents", .groups = 2, .loose = true, .unmovable = true, .agents = true},
    Shape{.name = "followers", .groups = 2, .loose = true, .followers = true},
    Shape{.name = "priorities", .groups = 2, .loose = true, .priorities = true},
    Shape{.name = "small", .small = true},
    Shape{.name = "medley",
          .groups = 4,
          .loose = true,
          .pools = true,
          .uneven = true,
          .spread = true,
          .budgets = true,
          .tainted = true,
          .volumes = true,
          .unmovable = true,
          .agents = true},
};

constexpr std::array<std::int64_t, 8> kSizes = {200, 300, 500, 700, 1000, 1500, 2000, 4000};
constexpr std::array<std::int64_t, 3> kSmallSizes = {250, 270, 310};
constexpr std::array<std::int64_t, 3> kQuorumSizes = {500, 1000, 1500};
constexpr std::array<std::int32_t, 4> kPriorities = {0, 100, 1000, 100000};
constexpr std::int32_t kClusterCritical = 2'000'000'000;
constexpr std::array<int, 4> kScales = {1, 1, 2, 4};

class Maker {
 public:
  Maker(const Shape& shape, int nodes, std::uint64_t seed) : shape_(shape), random_(seed), nodes_(nodes) {}

  scheduling::SnapshotInput make() {
    const int full = static_cast<int>(shape_.full * nodes_);
    for (int i = 0; i < nodes_; ++i) add_node(i);
    for (int i = 0; i < nodes_; ++i) {
      add(i, "agent", kAgentCpu, kGi / 4, [](PodBuilder& pod) { pod.owned_by("DaemonSet", "agent"); });
    }
    if (shape_.agents) add_agents();
    for (int i = 0; i < full; ++i) fill(i);
    for (int i = full; i < nodes_; ++i) hold_open(i);
    if (shape_.budgets) add_budgets();
    return cluster_.input();
  }

 private:
  static std::string node_name(int node) { return fmt::format("node-{:04}", node); }
  static std::string zone_of(int node) { return fmt::format("z{}", node % 3); }
  bool in_pool(int node) const { return shape_.pools && node % 2 == 1; }
  bool is_tainted(int node) const { return shape_.tainted && node % 10 == 3; }

  void add_node(int i) {
    const int scale = shape_.uneven ? random_.pick(kScales) : 1;
    scales_.push_back(scale);
    NodeBuilder node(node_name(i));
    node.sized(kCpu * scale / (shape_.uneven ? 2 : 1), kMemory * scale / (shape_.uneven ? 2 : 1),
               shape_.slots ? kFewSlots : 110)
        .label(api::well_known::kZoneLabel, zone_of(i));
    if (in_pool(i)) node.label("pool", "a");
    if (is_tainted(i)) node.taint("dedicated");
    cluster_.add(node);
  }
  std::int64_t cpu_of(int node) const {
    return kCpu * scales_[static_cast<std::size_t>(node)] / (shape_.uneven ? 2 : 1);
  }

  template <typename F>
  void add(int node, const std::string& app, std::int64_t cpu, std::int64_t memory, F&& change) {
    PodBuilder pod(fmt::format("{}-{:06}", app, ++pods_));
    pod.on(node_name(node)).cpu(cpu).memory(memory).owned_by("ReplicaSet", app);
    pod.with([&](api::Pod& p) { p.meta.labels = labels_of(app); });
    if (is_tainted(node)) pod.tolerate("dedicated");
    change(pod);
    cluster_.add(pod);
  }

  /// Shared between pods, as the decoder of a dump does.
  const api::StringMap& labels_of(const std::string& app) {
    return labels_.try_emplace(app, api::StringMap({{"app", app}})).first->second;
  }
  std::shared_ptr<const api::Affinity> affinity_of(const std::string& app) {
    auto& affinity = affinities_[app];
    if (affinity) return affinity;
    PodBuilder pod("");
    const std::string host(api::well_known::kHostnameLabel);
    pod.anti_affinity("app", app, host);
    if (shape_.peers && app == "quorum0") pod.anti_affinity("app", "quorum1", host);
    return affinity = pod.build().affinity;
  }

  void add_web(int node, std::int64_t cpu, std::int64_t memory) {
    const int app = random_.below(kApps);
    add(node, fmt::format("web{}", app), cpu, memory, [&](PodBuilder& pod) {
      if (in_pool(node) && random_.chance(0.5)) pod.with([](api::Pod& p) { p.node_selector = {{"pool", "a"}}; });
      if (shape_.priorities) pod.priority(kPriorities[static_cast<std::size_t>(app) % kPriorities.size()]);
      if (shape_.spread && app < kApps / 8)
        pod.with([&](api::Pod& p) { p.topology_spread.push_back(over_zones(fmt::format("web{}", app), 5)); });
      if (shape_.followers && app % 8 == 1)
        pod.affinity([&](api::Affinity& affinity) {
          api::PodAffinityTerm& term = affinity.required_pod_affinity.emplace_back();
          term.label_selector = builders::labels_in("app", {fmt::format("web{}", app - 1)});
          term.topology_key = api::well_known::kZoneLabel;
        });
    });
  }
  static api::TopologySpreadConstraint over_zones(const std::string& app, int skew) {
    api::TopologySpreadConstraint constraint;
    constraint.max_skew = skew;
    constraint.topology_key = api::well_known::kZoneLabel;
    constraint.label_selector = builders::labels_in("app", {app});
    return constraint;
  }

  bool has_logs(int node) const { return shape_.agents && node % 4 == 2; }
  void add_agents() {
    for (int i = 0; i < nodes_; ++i) {
      if (has_logs(i))
        add(i, "logs", kLogsCpu, kGi, [](PodBuilder& pod) { pod.owned_by("DaemonSet", "logs").priority(1000); });
    }
  }

  void fill(int node) {
    std::int64_t cpu = cpu_of(node) - kAgentCpu - (has_logs(node) ? kLogsCpu : 0);
    for (std::int64_t slots = shape_.slots ? kFewSlots - 1 : 110; cpu >= kSizes.front() && slots > 0; --slots) {
      const std::int64_t size = shape_.small         ? random_.pick(kSmallSizes)
                                : shape_.mixed_sizes ? random_.pick(kSizes)
                                                     : 1000;
      if (size > cpu) return;
      if (shape_.memory) {
        add_web(node, size / 3, size * kGi / 252);
      } else {
        add_web(node, size, size * kGi / 500);
      }
      cpu -= size;
    }
  }

  void hold_open(int node) {
    for (int group = 0; group < shape_.groups; ++group) {
      if (group > 0 && random_.chance(0.5)) continue;
      if (shape_.peers && group == (node % 2 == 0 ? 1 : 0)) continue;
      const std::string app = fmt::format("quorum{}", group);
      add(node, app, shape_.mixed_sizes ? random_.pick(kQuorumSizes) : 1000, kGi, [&](PodBuilder& pod) {
        pod.with([&](api::Pod& p) { p.affinity = affinity_of(app); });
        if (shape_.priorities) pod.priority(kPriorities.back());
        if (shape_.stateful) pod.owned_by("StatefulSet", app);
        if (shape_.zonal) pod.with([&](api::Pod& p) { p.topology_spread.push_back(over_zones(app, 1)); });
        if (shape_.volumes && group == 0) add_volume(node, pod);
      });
    }
    if (shape_.loose) {
      for (int i = random_.below(4); i > 0; --i)
        add_web(node, random_.pick(std::array<std::int64_t, 3>{200, 500, 1000}), kGi);
    }
    if (shape_.priorities && node % 10 == 1)
      add(node, "dns", 100, kGi / 4, [](PodBuilder& pod) { pod.priority(kClusterCritical); });
    if (shape_.unmovable && node % 10 == 1) add(node, "bare", 100, kGi / 4, [](PodBuilder& pod) { pod.bare(); });
  }

  void add_volume(int node, PodBuilder& pod) {
    const std::string name = fmt::format("data-{}", pods_);
    pod.with([&](api::Pod& p) { p.volumes.push_back({api::VolumeKind::kPersistentVolumeClaim, name}); });
    api::PersistentVolumeClaim claim;
    claim.meta.ns = "default";
    claim.meta.name = name;
    claim.volume_name = "pv-" + name;
    api::PersistentVolume volume;
    volume.meta.name = claim.volume_name;
    volume.required_node_terms = {
        {{{std::string(api::well_known::kZoneLabel), api::SelectorOperator::kIn, {zone_of(node)}}}, {}}};
    cluster_.add(claim);
    cluster_.add(volume);
  }

  void add_budgets() {
    for (int group = 0; group < shape_.groups; ++group) {
      const std::string app = fmt::format("quorum{}", group);
      cluster_.add(builders::pdb(app, app, std::max(nodes_ / 20, 1)));
    }
    for (int app = 0; app < kApps / 4; ++app) {
      const std::string name = fmt::format("web{}", app);
      cluster_.add(builders::pdb(name, name, 2));
    }
  }

  const Shape& shape_;
  Random random_;
  int nodes_;
  int pods_ = 0;
  std::vector<int> scales_;
  std::map<std::string, api::StringMap> labels_;
  std::map<std::string, std::shared_ptr<const api::Affinity>> affinities_;
  builders::ClusterBuilder cluster_;
};

}  // namespace

std::vector<std::string_view> kinds() {
  std::vector<std::string_view> names;
  for (const Shape& shape : kShapes) names.push_back(shape.name);
  return names;
}

scheduling::SnapshotInput make_cluster(std::string_view kind, int nodes, std::uint64_t seed) {
  if (const auto cluster = make_adverse_cluster(kind, nodes, seed)) return *cluster;
  const auto shape = std::ranges::find(kShapes, kind, &Shape::name);
  return Maker(*shape, nodes, seed).make();
}

}  // namespace fragmentation
