#include "simulator/controllers/controllers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/keyed_actor.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;
using api::ObjectKey;

constexpr base::minutes kDeletionTimeout{2};

bool counts_alike(const PodFacts& a, const PodFacts& b) {
  return a.uid == b.uid && a.ready == b.ready && a.terminating == b.terminating && a.controller_uid == b.controller_uid;
}

/// Drops disruptedPods entries that no longer hold the budget back: pods that are gone or terminating, and expired
/// entries. Returns when the next entry expires.
std::optional<base::TimePoint> prune_disrupted(Json& status, const std::map<ObjectKey, PodFacts>& pods,
                                               const std::set<std::string>& departed, const std::string& ns,
                                               base::TimePoint now) {
  const Json* present = api::find_at(status, {"disruptedPods"});
  if (!present || !present->is_object()) return std::nullopt;
  std::optional<base::TimePoint> next;
  Json kept = Json::object();
  for (const auto& [name, since_text] : present->items()) {
    const auto pod = pods.find({ns, name});
    if (pod == pods.end() || pod->second.terminating || departed.contains(name) || !since_text.is_string()) continue;
    const auto since = base::parse_time(since_text.get<std::string>());
    if (!since) continue;
    const base::TimePoint end = *since + kDeletionTimeout;
    if (end <= now) continue;
    next = earliest(next, end);
    kept[name] = since_text;
  }
  status.erase("disruptedPods");
  if (!kept.empty()) status["disruptedPods"] = std::move(kept);
  return next;
}

/// Maintains the status of PodDisruptionBudgets like Kubernetes' disruption controller: expectedPods, currentHealthy,
/// desiredHealthy, disruptionsAllowed, disruptedPods (dropped once the pod terminates, or after 2 minutes), condition
/// DisruptionAllowed. Resets the condition DisruptionTarget of a pod whose eviction did not happen.
class DisruptionController final : public KeyedActor<ObjectKey> {
 public:
  DisruptionController(Store& store, EventRecorder& events) : KeyedActor(store), events_(events) {
    journal_.on_reset([this] {
      budgets_.clear();
      pods_.clear();
      scales_.clear();
    });
    for (const auto& type : {kube::kDeployments, kube::kReplicaSets, kube::kStatefulSets}) {
      journal_.follow(type, [this](const Change& change) { on_scale(change); });
    }
    journal_.follow(kube::kPods, [this](const Change& change) { on_pod(change); });
    journal_.follow(kube::kPdbs, [this](const Change& change) { on_pdb(change); });
  }

  std::string_view name() const override { return "disruption-controller"; }

  bool tick(base::TimePoint now) override {
    bool changed = KeyedActor::tick(now);
    for (const ObjectKey& pod : stale_targets_.take_due(now)) changed = withdraw_target(pod, now) || changed;
    return changed;
  }

  std::optional<base::TimePoint> next_due() const override { return earliest(agenda_.next(), stale_targets_.next()); }

 private:
  struct Member {
    PodFacts facts;
    api::StringMap labels;
  };
  struct Budget {
    Object pdb;
    std::optional<api::LabelSelector> selector;  ///< nullopt matches no pod
    std::map<api::ObjectKey, PodFacts> pods;
    std::set<std::string> departed;  ///< names of pods that left or began to leave since the last status
  };
  struct Scale {
    std::int64_t replicas = 0;
    std::string owner_uid;  ///< for a ReplicaSet: UID of its Deployment
  };
  struct Expectation {
    std::int64_t pods = 0;
    std::int64_t healthy = 0;
    std::string failure;  ///< why it cannot be computed, empty if it can
  };

  void on_pdb(const Change& change) {
    if (change.kind == ChangeKind::kDeleted) {
      budgets_.erase(change.key);
      agenda_.drop(change.key);
      return;
    }
    const auto known = budgets_.find(change.key);
    const Json* selector = api::find_at(*change.object, {"spec", "selector"});
    const Json* old_selector =
        known == budgets_.end() ? nullptr : api::find_at(*known->second.pdb, {"spec", "selector"});
    const bool same = old_selector && selector && *old_selector == *selector;
    Budget& budget = budgets_[change.key];
    budget.pdb = change.object;
    dirty_.insert(change.key);
    if (same) return;
    budget.selector = label_selector(selector);
    budget.pods.clear();
    for (auto pod = pods_.lower_bound({change.key.ns, ""}); pod != pods_.end() && pod->first.ns == change.key.ns;
         ++pod) {
      if (budget.selector && budget.selector->matches(pod->second.labels)) budget.pods[pod->first] = pod->second.facts;
    }
  }

  void on_pod(const Change& change) {
    if (change.kind == ChangeKind::kDeleted) {
      place(change.key, nullptr);
      pods_.erase(change.key);
      stale_targets_.drop(change.key);
      return;
    }
    Member& member = pods_[change.key];
    member = {facts_of(*change.object), string_map(api::find_at(*change.object, {"metadata", "labels"}))};
    place(change.key, &member);
    stale_targets_.drop(change.key);
    if (!member.facts.is_active() || condition_value(*change.object, "DisruptionTarget") != "True") return;
    const auto since = base::parse_time(condition_value(*change.object, "DisruptionTarget", "lastTransitionTime"));
    if (since) stale_targets_.set(change.key, *since + kDeletionTimeout);
  }

  void on_scale(const Change& change) {
    const std::string uid = uid_of(*change.object);
    if (change.kind == ChangeKind::kDeleted) {
      scales_.erase(uid);
      return;
    }
    const Scale scale{count_at(*change.object, {"spec", "replicas"}, 1), controller_uid_of(*change.object)};
    const auto known = scales_.find(uid);
    const bool same = known != scales_.end() && known->second.replicas == scale.replicas;
    scales_[uid] = scale;
    if (same) return;
    for (auto at = budgets_.lower_bound({change.key.ns, ""}); at != budgets_.end() && at->first.ns == change.key.ns;
         ++at)
      dirty_.insert(at->first);
  }

  /// Adds the pod to the matching budgets of its namespace and removes it from others. `member` is nullptr for a
  /// deleted pod.
  void place(const ObjectKey& key, const Member* member) {
    for (auto at = budgets_.lower_bound({key.ns, ""}); at != budgets_.end() && at->first.ns == key.ns; ++at) {
      Budget& budget = at->second;
      const auto known = budget.pods.find(key);
      const bool belongs = member && budget.selector && budget.selector->matches(member->labels);
      const bool was_here = known != budget.pods.end();
      if (!belongs && !was_here) continue;
      if (!belongs || (was_here && (known->second.uid != member->facts.uid || member->facts.terminating)))
        budget.departed.insert(key.name);
      if (!belongs || !was_here || !counts_alike(known->second, member->facts)) dirty_.insert(at->first);
      if (belongs) {
        budget.pods[key] = member->facts;
      } else {
        budget.pods.erase(known);
      }
    }
  }

  /// Updates the status. disruptedPods is read under the store's lock, because evictions add to it concurrently.
  bool process(const ObjectKey& key, base::TimePoint now) override {
    const auto found = budgets_.find(key);
    if (found == budgets_.end()) return false;
    Budget& budget = found->second;
    const Expectation expected = expectation(budget);
    const std::set<std::string> departed = std::exchange(budget.departed, {});
    std::optional<base::TimePoint> next;
    const auto written = store_.edit(kube::kPdbs, key, Part::kStatus, "", [&](Json& pdb) {
      Json& status = object_in(pdb, "status");
      if (!expected.failure.empty()) {
        status["disruptionsAllowed"] = 0;
        put_condition(status, "DisruptionAllowed", "False", "SyncFailed", expected.failure, now);
        return;
      }
      next = prune_disrupted(status, budget.pods, departed, key.ns, now);
      const Json* disrupted = api::find_at(status, {"disruptedPods"});
      const std::int64_t healthy = std::ranges::count_if(budget.pods, [&](const auto& entry) {
        return entry.second.ready && !entry.second.terminating && !(disrupted && disrupted->contains(entry.first.name));
      });
      const std::int64_t allowed = expected.pods > 0 ? std::max<std::int64_t>(0, healthy - expected.healthy) : 0;
      status["currentHealthy"] = healthy;
      status["desiredHealthy"] = expected.healthy;
      status["expectedPods"] = expected.pods;
      status["disruptionsAllowed"] = allowed;
      status["observedGeneration"] = api::number_at(pdb, {"metadata", "generation"}).value_or(1);
      put_condition(status, "DisruptionAllowed", allowed > 0 ? "True" : "False",
                    allowed > 0 ? "SufficientPods" : "InsufficientPods", "", now);
    });
    agenda_.drop(key);
    if (next) agenda_.set(key, *next);
    if (!expected.failure.empty())
      events_.warning(name(), *budget.pdb, "CalculateExpectedPodCountFailed", expected.failure);
    return is_newer(written, *budget.pdb);
  }

  Expectation expectation(const Budget& budget) const {
    const Json* most = api::find_at(*budget.pdb, {"spec", "maxUnavailable"});
    const Json* least = api::find_at(*budget.pdb, {"spec", "minAvailable"});
    Expectation expected;
    if (least && least->is_number_integer()) {
      expected.pods = std::ssize(budget.pods);
      expected.healthy = scaled_value(least, 0, true).value_or(0);
      return expected;
    }
    if (!most && !least) return expected;
    std::string orphan;
    const auto scale = scale_of_owners(budget, orphan);
    if (!scale) {
      expected.failure = fmt::format("found no controllers for pod \"{}\"", orphan);
      return expected;
    }
    expected.pods = *scale;
    const auto amount = scaled_value(most ? most : least, *scale, true);
    if (!amount) {
      expected.failure = "invalid value for IntOrString: neither a number nor a percentage";
      return expected;
    }
    expected.healthy = most ? std::max<std::int64_t>(0, *scale - *amount) : *amount;
    return expected;
  }

  /// Returns the sum of the scales of the pods' owners. Pods without an owner are ignored. If an owner is unknown, sets
  /// `orphan` and returns nullopt.
  std::optional<std::int64_t> scale_of_owners(const Budget& budget, std::string& orphan) const {
    std::map<std::string, std::int64_t> found;
    for (const auto& [key, pod] : budget.pods) {
      if (pod.controller_uid.empty()) continue;
      auto scale = scales_.find(pod.controller_uid);
      if (scale != scales_.end() && scales_.contains(scale->second.owner_uid))
        scale = scales_.find(scale->second.owner_uid);
      if (scale == scales_.end()) {
        orphan = key.name;
        return std::nullopt;
      }
      found[scale->first] = scale->second.replicas;
    }
    std::int64_t sum = 0;
    for (const auto& [uid, replicas] : found) sum += replicas;
    return sum;
  }

  bool withdraw_target(const ObjectKey& pod, base::TimePoint now) {
    const auto written = store_.mutate(kube::kPods, pod, Part::kStatus, [&](Json& object) -> base::Status {
      if (is_terminating(object) || condition_value(object, "DisruptionTarget") != "True")
        return base::invalid("no longer stale");
      put_condition(object_in(object, "status"), "DisruptionTarget", "False", "", "", now);
      return base::Done{};
    });
    return written.ok();
  }

  EventRecorder& events_;
  std::map<api::ObjectKey, Budget> budgets_;
  std::map<api::ObjectKey, Member> pods_;
  std::map<std::string, Scale> scales_;  // by UID
  Agenda<api::ObjectKey> stale_targets_;
};

}  // namespace

std::unique_ptr<Actor> make_disruption_controller(Store& store, EventRecorder& events) {
  return std::make_unique<DisruptionController>(store, events);
}

}  // namespace simulator
