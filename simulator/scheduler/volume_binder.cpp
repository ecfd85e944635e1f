#include "simulator/scheduler/volume_binder.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/objects.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

std::string made_volume(const Json& claim) { return "pvc-" + uid_of(claim); }

bool is_bound(const Json& claim) { return api::text_at(claim, {"status", "phase"}) == "Bound"; }

}  // namespace

VolumeBinder::VolumeBinder(Store& store) : store_(store), journal_(store) {
  journal_.on_reset([this] {
    unbound_.clear();
    node_of_claim_.clear();
  });
  journal_.follow(kube::kPersistentVolumeClaims, [this](const Change& change) { on_claim(change); });
  journal_.follow(kube::kPods, [this](const Change& change) { on_pod(change); });
}

bool VolumeBinder::tick(base::TimePoint) {
  journal_.poll();
  bool changed = false;
  for (const auto& key : std::exchange(dirty_, {})) changed = bind(key) || changed;
  for (const auto& volume : std::exchange(released_, {}))
    changed = store_.remove(kube::kPersistentVolumes, {"", volume}).ok() || changed;
  return changed;
}

void VolumeBinder::on_claim(const Change& change) {
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

void VolumeBinder::on_pod(const Change& change) {
  if (change.kind == ChangeKind::kDeleted || unbound_.empty()) return;
  const std::string node = api::text_at(*change.object, {"spec", "nodeName"});
  const Json* volumes = api::find_at(*change.object, {"spec", "volumes"});
  if (node.empty() || !volumes || !volumes->is_array()) return;
  for (const Json& volume : *volumes) {
    const api::ObjectKey claim{change.key.ns, api::text_at(volume, {"persistentVolumeClaim", "claimName"})};
    if (!unbound_.contains(claim)) continue;
    node_of_claim_.emplace(claim, node);
    dirty_.insert(claim);
  }
}

/// Returns the zone of the volume, empty for any zone, nullopt if it is not known yet.
std::optional<std::string> VolumeBinder::zone_for(const Json& claim) const {
  if (!behaviour::is_set(claim, behaviour::kZonal)) return "";
  const auto node_name = node_of_claim_.find(key_of(claim));
  if (node_name == node_of_claim_.end()) return std::nullopt;
  const Object node = store_.get(kube::kNodes, {"", node_name->second});
  return node ? api::text_at(*node, {"metadata", "labels", "topology.kubernetes.io/zone"}) : std::string();
}

bool VolumeBinder::bind(const api::ObjectKey& key) {
  const Object claim = store_.get(kube::kPersistentVolumeClaims, key);
  if (!claim || is_bound(*claim) || is_terminating(*claim)) return false;
  std::string volume_name = api::text_at(*claim, {"spec", "volumeName"});
  if (volume_name.empty()) {
    const auto zone = zone_for(*claim);
    if (!zone) return false;
    volume_name = made_volume(*claim);
    Json volume = objects::persistent_volume(volume_name,
                                             api::text_at(*claim, {"spec", "resources", "requests", "storage"}), *zone);
    volume["spec"]["claimRef"] = {
        {"kind", "PersistentVolumeClaim"}, {"namespace", key.ns}, {"name", key.name}, {"uid", uid_of(*claim)}};
    volume["status"]["phase"] = "Bound";
    (void)store_.create(kube::kPersistentVolumes, std::move(volume));
  }
  if (!store_.get(kube::kPersistentVolumes, {"", volume_name})) return false;
  return store_
      .mutate(kube::kPersistentVolumeClaims, key, Part::kAll,
              [&](Json& object) -> base::Status {
                object_in(object, "spec")["volumeName"] = volume_name;
                Json& status = object_in(object, "status");
                status["phase"] = "Bound";
                status["capacity"] = {{"storage", api::text_at(*claim, {"spec", "resources", "requests", "storage"})}};
                return base::Done{};
              })
      .ok();
}

}  // namespace simulator
