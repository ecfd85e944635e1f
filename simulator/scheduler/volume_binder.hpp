#pragma once

#include <map>
#include <set>

#include "simulator/actor.hpp"
#include "simulator/journal.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Gives every PersistentVolumeClaim a volume: at once or, for zonal ones (behaviour::kZonal), in the zone
/// of the node that its first pod was bound to. Deletes the volumes it made when their claims go.
class VolumeBinder final : public Actor {
 public:
  explicit VolumeBinder(Store& store);

  std::string_view name() const override { return "persistentvolume-controller"; }
  bool tick(base::TimePoint now) override;

 private:
  void on_claim(const Change& change);
  void on_pod(const Change& change);
  bool bind(const api::ObjectKey& key);
  std::optional<std::string> zone_for(const api::Json& claim) const;

  Store& store_;
  Journal journal_;
  std::map<api::ObjectKey, std::string> node_of_claim_;  // of the first pod that uses it
  std::set<api::ObjectKey> unbound_;
  std::set<api::ObjectKey> dirty_;
  std::set<std::string> released_;  // volumes whose claims are gone
};

}  // namespace simulator
