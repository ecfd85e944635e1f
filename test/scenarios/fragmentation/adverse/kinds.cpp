#include "test/scenarios/fragmentation/adverse/kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "test/scenarios/fragmentation/adverse/site.hpp"
#include "test/scenarios/fragmentation/clusters.hpp"

namespace fragmentation {
namespace {

using api::well_known::kHostnameLabel;
using api::well_known::kZoneLabel;

constexpr Size kAgent = {100, kGibi / 4};
constexpr int kMaxPods = 200;  // maximum number of tries per node

std::string app(std::string_view name, int number) { return fmt::format("{}{}", name, number); }
std::string any_app(Site& site, std::string_view name, int apps) { return app(name, site.random().below(apps)); }
/// Returns a pod with the same ratio of memory to CPU as a node, or half of it.
Size web_size(std::int64_t cpu) { return {cpu, 2 * cpu * kGibi / 1000}; }

/// Adds ordinary pods of these sizes until the next one does not fit.
template <std::size_t N>
void fill(Site& site, int node, const std::array<std::int64_t, N>& sizes, int apps = 30) {
  for (;;) {
    const Size size = web_size(site.random().pick(sizes));
    if (!site.fits(node, size)) return;
    site.add(node, any_app(site, "web", apps), size);
  }
}

/// Adds pods of these sizes until the CPU load exceeds `load`. `add` puts one on the node.
template <std::size_t N, typename F>
void fill_up_to(Site& site, int node, double load, const std::array<std::int64_t, N>& sizes, F&& add) {
  for (int tries = 0; tries < kMaxPods; ++tries) {
    const Size size = web_size(site.random().pick(sizes));
    if (site.cpu_load(node) > load || !site.fits(node, size)) return;
    add(size);
  }
}
template <std::size_t N>
void fill_up_to(Site& site, int node, double load, const std::array<std::int64_t, N>& sizes) {
  fill_up_to(site, node, load, sizes, [&](Size size) { site.add(node, any_app(site, "web", 20), size); });
}

void start(Site& site, int nodes, const Machine& machine = {}) {
  site.add_nodes(nodes, machine);
  site.add_daemon_everywhere("agent", kAgent);
}

/// Nodes whose CPU is full and nodes whose memory is full. Together their pods fit on half of the nodes.
void talls(Site& site, int nodes) {
  start(site, nodes);
  Random& random = site.random();
  for (int i = 0; i < nodes; ++i) {
    const bool is_cpu = i % 2 == 1;
    for (int tries = 0; tries < kMaxPods; ++tries) {
      const Size size = is_cpu ? Size{random.pick(std::array<std::int64_t, 3>{1000, 2000, 3000}), kGibi}
                               : Size{random.pick(std::array<std::int64_t, 3>{100, 200, 300}),
                                      random.pick(std::array<std::int64_t, 3>{4, 8, 12}) * kGibi};
      if (!site.fits(i, size) || random.chance(.04)) break;
      site.add(i, any_app(site, is_cpu ? "cpu" : "mem", 12), size);
    }
  }
}

/// Machines and pods of three different shapes each, in any combination.
void shapes(Site& site, int nodes) {
  for (int i = 0; i < nodes; ++i)
    site.add_node(
        std::array{Machine{32000, 32 * kGibi}, Machine{16000, 64 * kGibi}, Machine{8000, 128 * kGibi}}[i % 3]);
  site.add_daemon_everywhere("agent", kAgent);
  Random& random = site.random();
  for (int i = 0; i < nodes; ++i) {
    const double load = random.between(.15, .95);
    for (int tries = 0; tries < kMaxPods; ++tries) {
      const int shape = random.below(3);
      const std::int64_t scale = random.pick(std::array<std::int64_t, 4>{1, 1, 2, 4});
      const Size size = std::array{Size{1000 * scale, scale * kGibi / 2}, Size{500 * scale, 2 * scale * kGibi},
                                   Size{200 * scale, 4 * scale * kGibi}}[shape];
      if (site.load(i) > load || !site.fits(i, size)) break;
      site.add(i, any_app(site, app("shape", shape) + "-", 8), size);
    }
  }
}

/// The number of pods is the scarce resource, and its limit differs per node.
void limits(Site& site, int nodes) {
  Random& random = site.random();
  for (int i = 0; i < nodes; ++i) site.add_node({.pods = random.pick(std::array{12, 18, 25})});
  site.add_daemon_everywhere("agent", kAgent);
  constexpr Size kTiny = {50, kGibi / 8};
  for (int i = 0; i < nodes / 2; ++i) {
    while (site.fits(i, {100, kGibi / 8}))
      site.add(i, any_app(site, "tiny", 15), {random.pick(std::array<std::int64_t, 2>{50, 100}), kGibi / 8});
  }
  for (int i = nodes / 2; i < nodes; ++i) {
    for (int group = 0; group < 3; ++group) {
      if (group == 0 || random.chance(.5))
        site.add(i, app("quorum", group), kTiny, apart_from("app", app("quorum", group), kHostnameLabel));
    }
    for (int pods = random.below(4); pods > 0; --pods) site.add(i, any_app(site, "tiny", 15), kTiny);
  }
}

constexpr std::array<std::int64_t, 5> kFiveSizes = {300, 500, 1000, 2000, 4000};
constexpr std::array<std::int64_t, 3> kThreeSizes = {500, 1000, 2000};

/// Groups with anti-affinity among their pods and a spread over zones.
void zoned(Site& site, int nodes) {
  start(site, nodes);
  Random& random = site.random();
  const int half = nodes / 2;
  for (int i = 0; i < half; ++i) fill(site, i, kFiveSizes);
  for (int group = 0; group < std::max(4, nodes / 6); ++group) {
    const int count = nodes >= 18 ? random.pick(std::array{3, 6, 9}) : 3;
    // adjacent nodes give an even spread over zones
    const int first = half + random.below(std::max(1, nodes - half - count + 1));
    const Size size = {random.pick(kThreeSizes), 2 * kGibi};
    const std::string name = app("quorum", group);
    for (int i = first; i < std::min(first + count, nodes); ++i) {
      if (site.fits(i, size))
        site.add(i, name, size, all_of({apart_from("app", name, kHostnameLabel), spread_over(name, {kZoneLabel})}));
    }
  }
}

/// Followers that must be on the node of their leader.
void pairs(Site& site, int nodes) {
  start(site, nodes);
  Random& random = site.random();
  for (int i = 0; i < nodes; ++i) {
    for (;;) {
      const int number = random.below(20);
      const std::int64_t cpu = random.pick(kThreeSizes);
      if (!site.fits(i, {cpu + 600, 6 * kGibi})) break;
      site.add(i, app("lead", number), {cpu, 3 * kGibi});
      for (int followers = random.below(3); followers > 0; --followers)
        site.add(i, app("follow", number), {300, kGibi}, together_with(app("lead", number)));
      if (i >= nodes / 2 && random.chance(.5)) break;
    }
  }
}

/// All apps are spread over zones, and some over nodes, too.
void skew(Site& site, int nodes) {
  start(site, nodes);
  Random& random = site.random();
  const int most = nodes - nodes % 3;
  for (int number = 0; number < nodes; ++number) {
    const std::string name = app("even", number);
    const bool over_nodes = number % 5 == 0;
    const Size size = [&] {
      const std::int64_t cpu = random.pick(std::array<std::int64_t, 5>{300, 500, 800, 1200, 2500});
      return Size{cpu, 3 * cpu * kGibi / 1000};
    }();
    const auto change = spread_over(name, over_nodes ? std::vector<std::string_view>{kZoneLabel, kHostnameLabel}
                                                     : std::vector<std::string_view>{kZoneLabel});
    const int first = random.below(nodes);
    for (int pod = random.pick(std::array{3, 6, 9}) - 1; pod >= 0; --pod) {
      for (int tries = 0; tries < nodes; ++tries) {
        const int near = (first + pod + 3 * random.below(nodes)) % most;
        const int node = near - near % 3 + pod % 3;  // alternates between the zones
        if (!site.fits(node, size) || (over_nodes && site.count(node, name) > 0)) continue;
        site.add(node, name, size, change);
        break;
      }
    }
  }
}

/// Host ports instead of anti-affinity.
void ports(Site& site, int nodes) {
  start(site, nodes);
  Random& random = site.random();
  for (int i = 0; i < nodes / 2; ++i) fill(site, i, std::array<std::int64_t, 4>{250, 700, 1500, 3000});
  for (int i = nodes / 2; i < nodes; ++i) {
    for (int port = 0; port < 3; ++port) {
      if (port == 0 || random.chance(.5))
        site.add(i, app("ingress", port), {random.pick(std::array<std::int64_t, 2>{500, 1000}), kGibi},
                 on_port(8080 + port));
    }
  }
}

/// Small pools, every other one tainted. Some pods may use any untainted pool.
void pools(Site& site, int nodes) {
  Random& random = site.random();
  std::vector<int> pool_of;
  for (int pool = 1; static_cast<int>(pool_of.size()) < nodes; ++pool) {
    const std::int64_t scale = random.pick(std::array<std::int64_t, 3>{1, 1, 2});
    for (int left = random.pick(std::array{3, 4, 5, 6}); left > 0 && static_cast<int>(pool_of.size()) < nodes; --left) {
      pool_of.push_back(pool);
      site.add_node({.cpu = 16000 * scale,
                     .memory = 64 * kGibi * scale,
                     .label = "pool=" + app("p", pool),
                     .taint = pool % 2 == 1 ? app("p", pool) : ""});
    }
  }
  site.add_daemon_everywhere("agent", kAgent);
  for (int i = 0; i < nodes; ++i) {
    const int number = pool_of[static_cast<std::size_t>(i)];
    const std::string pool = app("p", number);
    const auto add = [&](Size size) {
      if (number % 2 == 1)
        return site.add(i, any_app(site, pool + "-web", 4), size, all_of({tolerating(pool), selecting("pool", pool)}));
      if (random.chance(.7)) return site.add(i, any_app(site, pool + "-web", 4), size, selecting("pool", pool));
      site.add(i, any_app(site, "any", 6), size);
    };
    fill_up_to(site, i, random.pick(std::array{.2, .3, .5, .98}), std::array<std::int64_t, 4>{500, 1000, 1500, 3000},
               add);
  }
}

/// The budget of each app allows one eviction at a time.
void singles(Site& site, int nodes) {
  start(site, nodes);
  for (int i = 0; i < nodes / 2; ++i) fill(site, i, kThreeSizes, 20);
  for (int i = nodes / 2; i < nodes; ++i) {
    for (int group = 0; group < 4; ++group) {
      if (site.random().chance(.6))
        site.add(i, app("quorum", group), {1000, kGibi}, apart_from("app", app("quorum", group), kHostnameLabel));
    }
  }
  site.add_budgets(1);
}

/// Pods without requests, and some with requests.
void besteffort(Site& site, int nodes) {
  start(site, nodes, {.pods = 40});
  Random& random = site.random();
  for (int i = 0; i < nodes / 3; ++i) fill(site, i, kThreeSizes, 20);
  for (int i = nodes / 3; i < nodes; ++i) {
    for (int pods = 2 + random.below(18); pods > 0; --pods) site.add(i, any_app(site, "idle", 20), {});
    if (random.chance(.5)) site.add(i, "quorum", {}, apart_from("app", "quorum", kHostnameLabel));
  }
}

/// Many DaemonSets, different ones per kind of node, so that the free capacity differs.
void daemons(Site& site, int nodes) {
  for (int i = 0; i < nodes; ++i) site.add_node({.label = "tier=" + app("t", i % 4)});
  for (int i = 0; i < nodes; ++i) {
    for (int number = 0; number < 3; ++number) site.add_daemon(i, app("all", number), {100, kGibi / 2});
    for (int number = 0; number < i % 4 * 2; ++number)
      site.add_daemon(i, app(app("tier", i % 4) + "-", number), {700, kGibi});
  }
  for (int i = 0; i < nodes; ++i)
    fill_up_to(site, i, site.random().between(.2, 1), std::array<std::int64_t, 4>{400, 900, 1300, 2100});
}

/// A huge pod on most nodes, of which no two fit on one node, and small pods around it.
void huge(Site& site, int nodes) {
  start(site, nodes);
  Random& random = site.random();
  for (int i = 0; i < nodes; ++i) {
    if (i % 5 < 3)
      site.add(i, any_app(site, "huge", 5), {random.pick(std::array<std::int64_t, 3>{9000, 10000, 11000}), 30 * kGibi});
    fill_up_to(site, i, random.between(.3, .95), std::array<std::int64_t, 4>{200, 400, 800, 1600});
  }
}

/// A third of the nodes has GPUs that some pods request. Ordinary pods are on all nodes.
void gpu(Site& site, int nodes) {
  static const std::string kGpu = "nvidia.com/gpu";
  Random& random = site.random();
  std::vector<int> gpus;
  for (int i = 0; i < nodes; ++i) {
    gpus.push_back(i % 3 == 0 ? random.pick(std::array{4, 8}) : 0);
    site.add_node({.extended = gpus.back() > 0 ? kGpu : "", .extended_units = gpus.back()});
  }
  site.add_daemon_everywhere("agent", kAgent);
  for (int i = 0; i < nodes; ++i) {
    const int most = gpus[static_cast<std::size_t>(i)];
    for (int left = most > 0 ? 1 + random.below(most) : 0; left > 0;) {
      const int asked = std::min(random.pick(std::array{1, 2, 4}), left);
      left -= asked;
      site.add(i, any_app(site, "train", 6), {1000, 4 * kGibi}, with_extended(kGpu, asked));
    }
    fill_up_to(site, i, random.pick(std::array{.3, .5, .9}), kThreeSizes);
  }
}

/// Pods with anti-affinity per zone, with six zones, and some pods that are restricted to two zones.
void zoneanti(Site& site, int nodes) {
  start(site, nodes, {.zones = 6});
  Random& random = site.random();
  const int half = nodes / 2;
  for (int i = 0; i < half; ++i) {
    for (;;) {
      const Size size = web_size(random.pick(kFiveSizes));
      if (!site.fits(i, size)) break;
      const std::string name = any_app(site, "web", 30);
      if (random.chance(.7)) {
        site.add(i, name, size);
      } else {
        site.add(i, app(name + "-near", i % 6), size, in_zones({Site::zone_of(i, 6), Site::zone_of(i + 1, 6)}));
      }
    }
  }
  for (int group = 0; group < nodes / 2; ++group) {
    const std::string name = app("quorum", group);
    const int first = random.below(6);
    for (int zone = random.pick(std::array{2, 3, 5}) - 1; zone >= 0; --zone) {
      const int node = half + random.below(nodes - half);
      const int there = node - node % 6 + (first + zone) % 6;
      const Size size = {random.pick(std::array<std::int64_t, 3>{300, 600, 900}), kGibi};
      if (there >= half && there < nodes && site.fits(there, size))
        site.add(there, name, size, apart_from("app", name, kZoneLabel));
    }
  }
}

/// Sizes that do not add up to one another, on machines of three sizes.
void primes(Site& site, int nodes) {
  Random& random = site.random();
  for (int i = 0; i < nodes; ++i)
    site.add_node({.cpu = random.pick(std::array<std::int64_t, 3>{3920, 7910, 15890}),
                   .memory = random.pick(std::array<std::int64_t, 3>{14, 29, 60}) * kGibi,
                   .pods = 58});
  site.add_daemon_everywhere("agent", {137, 211 * kMebi});
  for (int i = 0; i < nodes; ++i) {
    const double load = random.fraction();
    for (int tries = 0; tries < 60; ++tries) {
      const Size size = {random.pick(std::array<std::int64_t, 6>{53, 101, 211, 409, 811, 1709}),
                         random.pick(std::array<std::int64_t, 5>{131, 257, 521, 1031, 4099}) * kMebi};
      if (site.load(i) > load || !site.fits(i, size)) break;
      site.add(i, any_app(site, "web", 25), size);
    }
  }
}

/// Batch pods have an anti-affinity to other pods, but not among themselves.
void exclusive(Site& site, int nodes) {
  start(site, nodes);
  for (int i = 0; i < nodes; ++i) {
    const bool is_batch = i % 3 == 0;
    const auto of_class = [&](builders::PodBuilder& pod) { pod.label("class", is_batch ? "batch" : "web"); };
    const auto change =
        is_batch ? all_of({of_class, apart_from("class", "web", kHostnameLabel)}) : Site::Change(of_class);
    fill_up_to(site, i, site.random().pick(std::array{.3, .6, .97}), kThreeSizes,
               [&](Size size) { site.add(i, any_app(site, is_batch ? "batch" : "web", 6), size, change); });
  }
}

struct Kind {
  std::string_view name;
  void (*build)(Site& site, int nodes);
};

constexpr std::array kKinds = {
    Kind{"talls", talls},     Kind{"shapes", shapes},
    Kind{"limits", limits},   Kind{"zoned", zoned},
    Kind{"pairs", pairs},     Kind{"skew", skew},
    Kind{"ports", ports},     Kind{"pools", pools},
    Kind{"singles", singles}, Kind{"besteffort", besteffort},
    Kind{"daemons", daemons}, Kind{"huge", huge},
    Kind{"gpu", gpu},         Kind{"zoneanti", zoneanti},
    Kind{"primes", primes},   Kind{"exclusive", exclusive},
};

}  // namespace

std::vector<std::string_view> adverse_kinds() {
  std::vector<std::string_view> names;
  for (const Kind& kind : kKinds) names.push_back(kind.name);
  return names;
}

std::optional<scheduling::SnapshotInput> make_adverse_cluster(std::string_view kind, int nodes, std::uint64_t seed) {
  const auto found = std::ranges::find(kKinds, kind, &Kind::name);
  if (found == kKinds.end()) return std::nullopt;
  Site site(seed);
  found->build(site, nodes);
  return site.input();
}

}  // namespace fragmentation
