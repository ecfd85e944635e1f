#pragma once

#include <map>
#include <set>

#include "simulator/actor.hpp"
#include "simulator/journal.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Creates and binds a volume for every PersistentVolumeClaim: immediately or, for zonal ones (behaviour::kZonal), in
/// the zone of the node of the first pod that uses it. Deletes its volumes together with their PersistentVolumeClaims.
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
  std::map<api::ObjectKey, std::string> node_of_claim_;  // node of the first pod that uses it
  std::set<api::ObjectKey> unbound_;
  std::set<api::ObjectKey> dirty_;
  std::set<std::string> released_;  // volumes whose PersistentVolumeClaims are gone
};

}  // namespace simulator
