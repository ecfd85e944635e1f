#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evictors/kubevirt/kubevirt.hpp"
#include "test/unit/evictors/objects.hpp"

namespace kubevirt_fixture {

using api::EvacuationPhase;
using api::Json;
using evictors::Document;
using evictors::ResponseClass;
using evictors::Rollback;
using evictors::kubevirt::KubeVirtEvictor;
using evictors_test::kNoon;
using evictors_test::kToken;

/// State of an Evacuation of VM shop/db on node-1. Tests edit its members.
struct World {
  World() {
    evacuation = evictors_test::evacuation(EvacuationPhase::kInProgress);
    evacuation.spec.pod_ref.name = "virt-launcher-db-x";
    evacuation.spec.node_name = {"node-1"};
    evacuation.status.adapter = "eviction";
    evacuation.status.request_sent_at = kNoon;
    evacuation.status.refs = {{"finishedBefore", "-"}, {"markOwned", "true"}, {"vmi", "db"}, {"vmiUid", "vm-uid"}};
    pod =
        evictors_test::pod({{"kubevirt.io/domain", "db"}, {"descheduler.alpha.kubernetes.io/request-evict-only", ""}});
    pod.meta.name = "virt-launcher-db-x";
    pod.meta.labels = api::StringMap({{"kubevirt.io", "virt-launcher"}});
    pod.node_name = {"node-1"};
    vmi = {{"metadata", {{"name", "db"}, {"uid", "vm-uid"}}},
           {"spec", {{"domain", {{"memory", {{"guest", "4Gi"}}}}}, {"evictionStrategy", "LiveMigrate"}}},
           {"status", {{"phase", "Running"}, {"nodeName", "node-1"}, {"evacuationNodeName", "node-1"}}}};
    kubevirt = {{"items", Json::array({{{"status", {{"observedKubeVirtVersion", "v1.7.0"}}}}})}};
  }

  World& migration(const char* name, const char* phase, const char* node = "node-1") {
    migrations.push_back({{"metadata",
                           {{"name", name},
                            {"uid", std::string("uid-") + name},
                            {"creationTimestamp", "2026-11-21T12:00:00Z"},
                            {"annotations", {{"kubevirt.io/evacuationMigration", node}}}}},
                          {"spec", {{"vmiName", "db"}}},
                          {"status", {{"phase", phase}}}});
    return *this;
  }
  World& intent(const char* action, const char* pre_state, bool resolved, const char* result = "") {
    evacuation.status.intent = api::EvacuationIntent{action, kToken, kNoon, resolved, result, pre_state};
    return *this;
  }
  World& target_pod(const char* unschedulable) {
    target_pods.push_back({{"metadata", {{"labels", {{"kubevirt.io/migrationJobUID", "uid-m"}}}}},
                           {"status",
                            {{"conditions", Json::array({{{"type", "PodScheduled"},
                                                          {"status", "False"},
                                                          {"reason", "Unschedulable"},
                                                          {"message", unschedulable}}})}}}});
    return *this;
  }
  World& forget(std::string_view key) {
    std::erase_if(evacuation.status.refs, [&](const auto& ref) { return ref.first == key; });
    return *this;
  }

  evictors::EvictorContext context() {
    documents = {{"vmi", vmi_status, vmi.dump()},
                 {"migrations", list_status, Json{{"items", migrations}}.dump()},
                 {"kubevirt", 200, kubevirt.dump()},
                 {"target", 200, Json{{"items", target_pods}}.dump()}};
    if (machine) documents.push_back({"machine", machine_status, machine->dump()});
    evictors::EvictorContext made{evacuation, with_pod ? &pod : nullptr, kNoon, parameters, "v1"};
    if (review) documents.push_back(*review);
    made.documents = documents;
    made.creator = creator;
    return made;
  }

  api::Evacuation evacuation;
  std::string creator;             ///< Verified creator of the Evacuation
  std::optional<Document> review;  ///< Access review of the API server for the creator
  api::Pod pod;
  Json vmi;
  Json kubevirt;
  Json migrations = Json::array();
  Json target_pods = Json::array();
  std::optional<Json> machine;  ///< The VirtualMachine object
  std::int32_t machine_status = 200;
  std::int32_t vmi_status = 200;
  std::int32_t list_status = 200;
  bool with_pod = true;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<Document> documents;
};

inline std::string ref_in(const evictors::Refs& refs, std::string_view key) {
  for (const auto& [name, value] : refs) {
    if (name == key) return value;
  }
  return "";
}

inline const KubeVirtEvictor kEvictor;

}  // namespace kubevirt_fixture
