#include "simulator/controllers/controllers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/keyed_actor.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr const char* kHashLabel = "pod-template-hash";
constexpr const char* kRevision = "deployment.kubernetes.io/revision";

std::int64_t replicas_of(const Json& object) { return count_at(object, {"spec", "replicas"}, 1); }
std::int64_t status_count(const Json& object, const char* field) {
  return api::number_at(object, {"status", field}).value_or(0);
}

std::int64_t revision_of(const Json& object) {
  return std::strtoll(api::text_at(object, {"metadata", "annotations", kRevision}).c_str(), nullptr, 10);
}

bool is_older(const Object& a, const Object& b) {
  const auto age = [](const Object& o) {
    return std::make_pair(revision_of(*o), api::text_at(*o, {"metadata", "name"}));
  };
  return age(a) < age(b);
}

/// Maintains one ReplicaSet per template and moves the replicas to the newest: RollingUpdate within maxSurge and
/// maxUnavailable, or Recreate.
class DeploymentController final : public KeyedActor<api::ObjectKey> {
 public:
  DeploymentController(Store& store, EventRecorder& events) : KeyedActor(store), events_(events) {
    journal_.on_reset([this] {
      deployments_.clear();
      key_by_uid_.clear();
      owned_.clear();
      owner_of_.clear();
    });
    journal_.follow(kube::kDeployments, [this](const Change& change) { on_deployment(change); });
    journal_.follow(kube::kReplicaSets, [this](const Change& change) { on_replica_set(change); });
  }

  std::string_view name() const override { return "deployment-controller"; }

 private:
  using ReplicaSets = std::map<api::ObjectKey, Object>;
  struct Rollout {
    const Json& deployment;
    std::string hash;
    std::int64_t replicas = 0;
    std::int64_t max_surge = 0;
    std::int64_t max_unavailable = 0;
    Object newest;            ///< ReplicaSet of the current template, nullptr if not created yet
    std::vector<Object> old;  ///< oldest first

    template <typename Count>
    std::int64_t sum(Count count) const {
      std::int64_t total = newest ? count(*newest) : 0;
      for (const Object& replica_set : old) total += count(*replica_set);
      return total;
    }
    std::int64_t total_replicas() const { return sum(replicas_of); }
    std::int64_t total(const char* field) const {
      return sum([field](const Json& object) { return status_count(object, field); });
    }
  };

  void on_deployment(const Change& change) {
    const auto known = deployments_.find(change.key);
    if (known != deployments_.end() &&
        (change.kind == ChangeKind::kDeleted || uid_of(*known->second) != uid_of(*change.object))) {
      key_by_uid_.erase(uid_of(*known->second));
      owned_.erase(uid_of(*known->second));
      deployments_.erase(known);
    }
    if (change.kind == ChangeKind::kDeleted) return;
    deployments_[change.key] = change.object;
    key_by_uid_[uid_of(*change.object)] = change.key;
    dirty_.insert(change.key);
  }

  void on_replica_set(const Change& change) {
    std::string owner = controller_uid_of(*change.object);
    if (change.kind == ChangeKind::kDeleted) {
      owned_[owner].erase(change.key);
    } else {
      owned_[owner][change.key] = change.object;
    }
    if (const auto before = owner_of_.find(change.key); before != owner_of_.end() && before->second != owner)
      owned_[before->second].erase(change.key);
    if (const auto deployment = key_by_uid_.find(owner); deployment != key_by_uid_.end())
      dirty_.insert(deployment->second);
    owner_of_[change.key] = std::move(owner);
  }

  bool process(const api::ObjectKey& key, base::TimePoint now) override {
    const auto found = deployments_.find(key);
    if (found == deployments_.end() || is_terminating(*found->second)) return false;
    const Object deployment = found->second;
    return reconcile(*deployment, owned_[uid_of(*deployment)], now);
  }

  bool reconcile(const Json& deployment, const ReplicaSets& owned, base::TimePoint now) {
    static const Json kNoTemplate = Json::object();
    const Json* pod_template = api::find_at(deployment, {"spec", "template"});
    Rollout rollout{
        deployment, template_hash(pod_template ? *pod_template : kNoTemplate), replicas_of(deployment), 0, 0, nullptr,
        {}};
    rollout.max_surge = scaled_value(api::find_at(deployment, {"spec", "strategy", "rollingUpdate", "maxSurge"}),
                                     rollout.replicas, true)
                            .value_or((rollout.replicas + 3) / 4);
    rollout.max_unavailable =
        scaled_value(api::find_at(deployment, {"spec", "strategy", "rollingUpdate", "maxUnavailable"}),
                     rollout.replicas, false)
            .value_or(rollout.replicas / 4);
    rollout.max_unavailable = std::min(rollout.max_unavailable, rollout.replicas);
    if (rollout.max_surge == 0 && rollout.max_unavailable == 0) rollout.max_unavailable = 1;
    for (const auto& [key, replica_set] : owned) {
      if (api::text_at(*replica_set, {"metadata", "labels", kHashLabel}) == rollout.hash) {
        rollout.newest = replica_set;
      } else {
        rollout.old.push_back(replica_set);
      }
    }
    std::ranges::sort(rollout.old, is_older);

    bool changed = false;
    if (!api::flag_at(deployment, {"spec", "paused"})) {
      changed =
          api::text_at(deployment, {"spec", "strategy", "type"}) == "Recreate" ? recreate(rollout) : roll(rollout);
      changed = renumber(rollout) || prune_history(rollout) || changed;
    } else if (rollout.newest) {
      changed = scale_to(deployment, rollout.newest,
                         rollout.replicas - (rollout.total_replicas() - replicas_of(*rollout.newest)));
    }
    return report(rollout, now) || changed;
  }

  bool roll(const Rollout& rollout) {
    const bool grown = scale_up_new(rollout);
    return grown || scale_down_old(rollout);
  }

  /// Recreate strategy: removes all old pods before it creates new ones.
  bool recreate(const Rollout& rollout) {
    bool changed = false;
    for (const Object& replica_set : rollout.old) changed = scale_to(rollout.deployment, replica_set, 0) || changed;
    const bool old_left =
        std::ranges::any_of(rollout.old, [](const Object& o) { return status_count(*o, "replicas") > 0; });
    if (changed || old_left) return changed;
    if (!rollout.newest) return make_replica_set(rollout, rollout.replicas);
    return scale_to(rollout.deployment, rollout.newest, rollout.replicas);
  }

  bool scale_up_new(const Rollout& rollout) {
    const std::int64_t capacity = rollout.replicas + rollout.max_surge - rollout.total_replicas();
    const std::int64_t present = rollout.newest ? replicas_of(*rollout.newest) : 0;
    const std::int64_t wanted = std::min(rollout.replicas, present + std::max<std::int64_t>(0, capacity));
    if (!rollout.newest) return make_replica_set(rollout, wanted);
    return scale_to(rollout.deployment, rollout.newest, wanted);
  }

  /// Scales down old ReplicaSets, oldest first: unavailable pods first, then available ones as far as maxUnavailable
  /// permits.
  bool scale_down_old(const Rollout& rollout) {
    if (!rollout.newest) return false;
    const std::int64_t least = rollout.replicas - rollout.max_unavailable;
    const std::int64_t new_unavailable =
        replicas_of(*rollout.newest) - status_count(*rollout.newest, "availableReplicas");
    std::int64_t capacity = rollout.total_replicas() - least - new_unavailable;
    std::int64_t spare = rollout.total("availableReplicas") - least;
    bool changed = false;
    for (const Object& replica_set : rollout.old) {
      const std::int64_t present = replicas_of(*replica_set);
      if (present == 0 || capacity <= 0) continue;
      const std::int64_t unhealthy =
          std::clamp<std::int64_t>(present - status_count(*replica_set, "availableReplicas"), 0, capacity);
      const std::int64_t healthy =
          std::clamp<std::int64_t>(std::min(spare, capacity - unhealthy), 0, present - unhealthy);
      capacity -= unhealthy + healthy;
      spare -= healthy;
      changed = scale_to(rollout.deployment, replica_set, present - unhealthy - healthy) || changed;
    }
    return changed;
  }

  bool make_replica_set(const Rollout& rollout, std::int64_t replicas) {
    const Json* pod_template = api::find_at(rollout.deployment, {"spec", "template"});
    Json copy = pod_template && pod_template->is_object() ? *pod_template : Json::object();
    object_in(object_in(copy, "metadata"), "labels")[kHashLabel] = rollout.hash;
    const std::int64_t revision = rollout.old.empty() ? 1 : revision_of(*rollout.old.back()) + 1;
    const std::string its_name = api::text_at(rollout.deployment, {"metadata", "name"}) + "-" + rollout.hash;

    Json metadata = {{"name", its_name},
                     {"namespace", api::text_at(rollout.deployment, {"metadata", "namespace"})},
                     {"labels", copy["metadata"]["labels"]}};
    metadata["annotations"][kRevision] = std::to_string(revision);
    metadata["ownerReferences"] = Json::array({controller_reference(rollout.deployment)});
    Json spec = {{"replicas", replicas}, {"template", std::move(copy)}};
    const Json* selector = api::find_at(rollout.deployment, {"spec", "selector"});
    spec["selector"] = selector ? *selector : Json::object();
    object_in(spec["selector"], "matchLabels")[kHashLabel] = rollout.hash;
    if (const auto min_ready = api::number_at(rollout.deployment, {"spec", "minReadySeconds"}))
      spec["minReadySeconds"] = *min_ready;
    Json replica_set = {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
    if (!store_.create(kube::kReplicaSets, std::move(replica_set))) return false;
    events_.normal(name(), rollout.deployment, "ScalingReplicaSet",
                   fmt::format("Scaled up replica set {} to {}", its_name, replicas));
    return true;
  }

  bool scale_to(const Json& deployment, const Object& replica_set, std::int64_t replicas) {
    const std::int64_t present = replicas_of(*replica_set);
    if (present == std::max<std::int64_t>(0, replicas)) return false;
    const auto scaled = store_.edit(kube::kReplicaSets, key_of(*replica_set), Part::kMain, "", [&](Json& object) {
      object_in(object, "spec")["replicas"] = std::max<std::int64_t>(0, replicas);
    });
    if (!scaled) return false;
    events_.normal(
        name(), deployment, "ScalingReplicaSet",
        fmt::format("Scaled {} replica set {} to {} from {}", replicas > present ? "up" : "down",
                    api::text_at(*replica_set, {"metadata", "name"}), std::max<std::int64_t>(0, replicas), present));
    return true;
  }

  /// Gives the current template the highest revision if it was used before.
  bool renumber(const Rollout& rollout) {
    if (!rollout.newest || rollout.old.empty() || revision_of(*rollout.newest) > revision_of(*rollout.old.back()))
      return false;
    const std::int64_t revision = revision_of(*rollout.old.back()) + 1;
    return store_.edit(kube::kReplicaSets, key_of(*rollout.newest), Part::kMain, "", [&](Json& object) {
      object_in(object_in(object, "metadata"), "annotations")[kRevision] = std::to_string(revision);
    }) != nullptr;
  }

  /// Deletes empty old ReplicaSets beyond revisionHistoryLimit, oldest first.
  bool prune_history(const Rollout& rollout) {
    std::vector<Object> empty;
    for (const Object& replica_set : rollout.old) {
      if (replicas_of(*replica_set) == 0 && status_count(*replica_set, "replicas") == 0) empty.push_back(replica_set);
    }
    const std::int64_t limit = count_at(rollout.deployment, {"spec", "revisionHistoryLimit"}, 10);
    bool changed = false;
    for (std::int64_t i = 0; i < std::ssize(empty) - limit; ++i) {
      const Object& oldest = empty[static_cast<std::size_t>(i)];
      changed = store_.remove(kube::kReplicaSets, key_of(*oldest), {uid_of(*oldest), ""}).ok() || changed;
    }
    return changed;
  }

  bool report(const Rollout& rollout, base::TimePoint now) {
    const std::int64_t updated = rollout.newest ? status_count(*rollout.newest, "replicas") : 0;
    const std::int64_t available = rollout.total("availableReplicas");
    const bool enough = available >= rollout.replicas - rollout.max_unavailable;
    const bool complete = updated == rollout.replicas && rollout.total("replicas") == updated && available == updated;
    const std::string revision = std::to_string(rollout.newest ? revision_of(*rollout.newest) : 1);
    const Object written = store_.edit(
        kube::kDeployments, key_of(rollout.deployment), Part::kAll, uid_of(rollout.deployment), [&](Json& object) {
          if (rollout.newest) object_in(object_in(object, "metadata"), "annotations")[kRevision] = revision;
          Json& status = object_in(object, "status");
          status["observedGeneration"] = api::number_at(rollout.deployment, {"metadata", "generation"}).value_or(1);
          status["replicas"] = rollout.total("replicas");
          status["updatedReplicas"] = updated;
          status["readyReplicas"] = rollout.total("readyReplicas");
          status["availableReplicas"] = available;
          status["unavailableReplicas"] =
              std::max<std::int64_t>(0, std::max(rollout.total("replicas"), rollout.replicas) - available);
          put_condition(
              status, "Available", enough ? "True" : "False",
              enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
              enough ? "Deployment has minimum availability." : "Deployment does not have minimum availability.", now);
          put_condition(status, "Progressing", "True", complete ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
                        complete ? "ReplicaSet has successfully progressed." : "ReplicaSet is progressing.", now);
        });
    return is_newer(written, rollout.deployment);
  }

  EventRecorder& events_;
  std::map<api::ObjectKey, Object> deployments_;
  std::map<std::string, api::ObjectKey> key_by_uid_;
  std::map<std::string, ReplicaSets> owned_;  // by UID of the Deployment
  std::map<api::ObjectKey, std::string> owner_of_;
};

}  // namespace

std::unique_ptr<Actor> make_deployment_controller(Store& store, EventRecorder& events) {
  return std::make_unique<DeploymentController>(store, events);
}

}  // namespace simulator
