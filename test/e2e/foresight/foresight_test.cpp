// End-to-end scenario 13: kube-scheduler does what the planner predicts. Real cluster only, because the simulator's
// scheduler uses the same code. Tests the default profile on every version; on 1.20 and from 1.25 on, also each score
// alone, and all scores with current weights (profiles of hack/cluster/scheduler.yaml and scheduler-v1.yaml).

#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>

#include "test/e2e/foresight/foresight.hpp"
#include "test/e2e/foresight/scheduler_world.hpp"
#include "test/e2e/harness/scenario.hpp"

namespace e2e {
namespace foresight_test {

constexpr int kPods = 25;       // per profile
constexpr int kResidents = 45;  // number of pods that are bound from the start

std::uint32_t seed() {
  const char* given = std::getenv("EVACUATOR_E2E_SEED");
  return given == nullptr || *given == '\0' ? 1 : static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The cluster at one instant.
struct Seen {
  std::vector<Json> nodes;
  std::vector<Json> pods;
};

class SchedulerForesight : public Scenario {
 protected:
  void SetUp() override {
    if (cluster().name() != "real") GTEST_SKIP() << "the simulator's scheduler is the code that would be tested";
    minor_ = cluster().minor();
    for (const std::string& node : nodes()) cordon(node);
    world_ = std::make_unique<SchedulerWorld>(api());
  }
  void TearDown() override { world_.reset(); }

  Seen look() const { return {api().list(path::nodes()), api().list("/api/v1/pods")}; }

  /// Returns the node that the scheduler chooses for the pod, empty if it finds none.
  std::string await_verdict(const std::string& name) const {
    return await("the scheduler's verdict on " + name, [&](std::string& seen) -> std::optional<std::string> {
      const Json pod = api().get(path::pods(ns(), name));
      seen = pod.at("status").dump();
      if (const std::string node = text_at(pod, "/spec/nodeName"); !node.empty()) return node;
      if (text_at(condition(pod, "PodScheduled"), "/reason") == "Unschedulable") return "";
      return std::nullopt;
    });
  }

  void remove_now(const std::string& name) const {
    api().request("DELETE", path::pods(ns(), name) + "?gracePeriodSeconds=0");
  }

  /// Fails the test unless the scheduler chose one of the predicted nodes, or none if none is predicted.
  static void compare(const Foresight& ours, const std::string& node, const Json& pod) {
    if (node.empty() ? ours.candidates.empty() : holds(ours.favourites, node)) return;
    ADD_FAILURE() << "the scheduler took " << (node.empty() ? "nothing" : node) << ", our favourites are "
                  << joined(ours.favourites) << " of " << joined(ours.candidates) << "\nfor " << pod.dump();
  }

  /// hack/cluster has a configuration with all profiles for 1.20, and one for 1.25 and later.
  bool has_all_profiles() const { return minor_ == 20 || minor_ >= 25; }
  std::span<const SchedulerProfile> profiles() const {
    const std::span all = scheduler_profiles();
    return has_all_profiles() ? all : all.first(1);
  }

  void try_profile(const SchedulerProfile& profile, RandomPods& pods) {
    SCOPED_TRACE(profile.name);
    int refused = 0;
    std::size_t candidates = 0;
    std::size_t favourites = 0;
    std::vector<std::string> made;
    Seen seen = look();
    for (int i = 0; i < kPods; ++i) {
      const bool spread = profile.has_spread() && (!profile.has_pod_affinity() || i % 2 == 0);
      const Json pod = pods.next(profile.name, profile.has_pod_affinity(), spread);
      const Foresight ours = foresee(seen.nodes, seen.pods, pod, profile, minor_);
      made.push_back(text_at(pod, "/metadata/name"));
      api().create(path::pods(ns()), pod);
      const std::string node = await_verdict(made.back());
      compare(ours, node, pod);
      if (node.empty()) remove_now(made.back());
      refused += node.empty() ? 1 : 0;
      candidates += ours.candidates.size();
      favourites += ours.favourites.size();
      seen = look();
    }
    const auto each = [&](auto count) {
      return std::to_string(static_cast<double>(count) / static_cast<double>(made.size())).substr(0, 4);
    };
    note(std::string(profile.name) + ": " + std::to_string(made.size()) + " pods (" + std::to_string(refused) +
         " with no node), on average " + each(favourites) + " favourites of " + each(candidates) + " nodes");
    EXPECT_LT(favourites, candidates) << "every node was a favourite, so nothing was tested";
    for (const std::string& name : made) remove_now(name);
    await("the pods to be gone", [&](std::string&) { return api().list(path::pods(ns())).size() == kResidents; });
  }

  int minor_ = 0;  ///< of the server's version
  std::unique_ptr<SchedulerWorld> world_;
};

TEST_F(SchedulerForesight, PredictsTheNodesThatKubeSchedulerChooses) {
  note("EVACUATOR_E2E_SEED=" + std::to_string(seed()));
  RandomPods pods(ns(), seed());
  for (int i = 0; i < kResidents; ++i) api().create(path::pods(ns()), pods.resident(i));
  for (const SchedulerProfile& profile : profiles()) try_profile(profile, pods);
}

/// The built-in constraints over nodes and zones. The hermit has no zone.
TEST_F(SchedulerForesight, PredictsTheSpreadOfSiblings) {
  constexpr int kSiblings = 18;
  const SchedulerProfile& profile = scheduler_profile(has_all_profiles() ? "only-spread" : "default-scheduler");
  Json set = manifest::deployment({.ns = ns(), .name = "web", .replicas = 0});
  set["kind"] = "ReplicaSet";
  Json& spec = set["spec"]["template"]["spec"];
  spec["schedulerName"] = profile.name;
  spec["terminationGracePeriodSeconds"] = 0;
  spec["tolerations"] = Json::array({{{"key", "dedicated"}, {"operator", "Exists"}}});
  api().create(path::apps(ns(), "replicasets"), set);
  std::set<std::string> known;
  for (int replicas = 1; replicas <= kSiblings; ++replicas) {
    const Seen before = look();
    api().merge(path::apps(ns(), "replicasets", "web"), {{"spec", {{"replicas", replicas}}}});
    const std::string name = await("one more sibling", [&](std::string&) -> std::optional<std::string> {
      for (const Json& pod : api().list(path::pods(ns()))) {
        if (known.insert(text_at(pod, "/metadata/name")).second) return text_at(pod, "/metadata/name");
      }
      return std::nullopt;
    });
    const std::string node = await_verdict(name);
    Json pod = api().get(path::pods(ns(), name));
    pod["spec"].erase("nodeName");
    compare(foresee(before.nodes, before.pods, pod, profile, minor_), node, pod);
  }
  api().remove(path::apps(ns(), "replicasets", "web"));
}

}  // namespace foresight_test
}  // namespace e2e
