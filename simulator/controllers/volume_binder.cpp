#include "simulator/controllers/controllers.hpp"

#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/keyed_actor.hpp"
#include "simulator/objects.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

std::string made_volume(const Json& claim) { return "pvc-" + uid_of(claim); }

bool is_bound(const Json& claim) { return api::text_at(claim, {"status", "phase"}) == "Bound"; }

/// Creates and binds a volume for every PersistentVolumeClaim: immediately or, for zonal ones (behaviour::kZonal), in
/// the zone of the node of the first pod that uses it. Deletes its volumes together with their PersistentVolumeClaims.
class VolumeBinder final : public KeyedActor<api::ObjectKey> {
 public:
  explicit VolumeBinder(Store& store) : KeyedActor(store) {
    journal_.on_reset([this] {
      unbound_.clear();
      node_of_claim_.clear();
    });
    journal_.follow(kube::kPersistentVolumeClaims, [this](const Change& change) { on_claim(change); });
    journal_.follow(kube::kPods, [this](const Change& change) { on_pod(change); });
  }

  std::string_view name() const override { return "persistentvolume-controller"; }

  bool tick(base::TimePoint now) override {
    bool changed = KeyedActor::tick(now);
    for (const auto& volume : std::exchange(released_, {}))
      changed = store_.remove(kube::kPersistentVolumes, {"", volume}).ok() || changed;
    return changed;
  }

 private:
  void on_claim(const Change& change) {
    if (change.kind == ChangeKind::kDeleted) {
      unbound_.erase(change.key);
      node_of_claim_.erase(change.key);
      released_.insert(made_volume(*change.object));
      return;
    }
    if (is_bound(*change.object)) {
      unbound_.erase(change.key);
      return;
    }
    unbound_.insert(change.key);
    dirty_.insert(change.key);
  }

  void on_pod(const Change& change) {
    if (change.kind == ChangeKind::kDeleted || unbound_.empty()) return;
    const std::string node = api::text_at(*change.object, {"spec", "nodeName"});
    if (node.empty()) return;
    for (const Json& volume : api::items_at(*change.object, {"spec", "volumes"})) {
      const api::ObjectKey claim{change.key.ns, api::text_at(volume, {"persistentVolumeClaim", "claimName"})};
      if (!unbound_.contains(claim)) continue;
      node_of_claim_.emplace(claim, node);
      dirty_.insert(claim);
    }
  }

  bool process(const api::ObjectKey& key, base::TimePoint) override {
    const Object claim = store_.get(kube::kPersistentVolumeClaims, key);
    if (!claim || is_bound(*claim) || is_terminating(*claim)) return false;
    std::string volume_name = api::text_at(*claim, {"spec", "volumeName"});
    if (volume_name.empty()) {
      const auto zone = zone_for(*claim);
      if (!zone) return false;
      volume_name = made_volume(*claim);
      Json volume = objects::persistent_volume(
          volume_name, api::text_at(*claim, {"spec", "resources", "requests", "storage"}), *zone);
      volume["spec"]["claimRef"] = {
          {"kind", "PersistentVolumeClaim"}, {"namespace", key.ns}, {"name", key.name}, {"uid", uid_of(*claim)}};
      volume["status"]["phase"] = "Bound";
      (void)store_.create(kube::kPersistentVolumes, std::move(volume));
    }
    if (!store_.get(kube::kPersistentVolumes, {"", volume_name})) return false;
    return store_.edit(kube::kPersistentVolumeClaims, key, Part::kAll, "", [&](Json& object) {
      object_in(object, "spec")["volumeName"] = volume_name;
      Json& status = object_in(object, "status");
      status["phase"] = "Bound";
      status["capacity"] = {{"storage", api::text_at(*claim, {"spec", "resources", "requests", "storage"})}};
    }) != nullptr;
  }

  /// Returns the zone of the volume, empty for any zone, nullopt if it is not known yet.
  std::optional<std::string> zone_for(const Json& claim) const {
    if (!behaviour::is_set(claim, behaviour::kZonal)) return "";
    const auto node_name = node_of_claim_.find(key_of(claim));
    if (node_name == node_of_claim_.end()) return std::nullopt;
    const Object node = store_.get(kube::kNodes, {"", node_name->second});
    return node ? api::text_at(*node, {"metadata", "labels", "topology.kubernetes.io/zone"}) : std::string();
  }

  std::map<api::ObjectKey, std::string> node_of_claim_;  // node of the first pod that uses it
  std::set<api::ObjectKey> unbound_;
  std::set<std::string> released_;  // volumes whose PersistentVolumeClaims are gone
};

}  // namespace

std::unique_ptr<Actor> make_volume_binder(Store& store) { return std::make_unique<VolumeBinder>(store); }

}  // namespace simulator
