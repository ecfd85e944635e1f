#pragma once

/// A simulated cluster on virtual time with queries for tests of the controllers.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/cluster.hpp"
#include "simulator/objects.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {

class World {
 public:
  explicit World(ClusterOptions options = {}) : cluster(clock, std::move(options)) {}
  ~World() {
    for (const std::string& failure : cluster.failures()) ADD_FAILURE() << failure;
  }
  World(const World&) = delete;

  Object add(api::Json object) {
    auto created = cluster.add(std::move(object));
    if (!created) {
      ADD_FAILURE() << created.error().message;
      return std::make_shared<const api::Json>(api::Json::object());
    }
    return *created;
  }
  void add_nodes(int count, const char* cpu = "4", const char* memory = "16Gi") {
    for (int i = 1; i <= count; ++i) add(objects::node("node-" + std::to_string(i), cpu, memory));
  }
  void advance(base::Duration by) { EXPECT_TRUE(cluster.advance(by)) << "the cluster does not come to rest"; }
  base::TimePoint now() const { return clock.now(); }

  Object get(const kube::ResourceType& type, const std::string& ns, const std::string& name) {
    return cluster.store().get(type, {ns, name});
  }
  Object pod(const std::string& name) { return get(kube::kPods, "shop", name); }
  std::vector<Object> pods(const std::string& ns = "shop") { return cluster.store().list(kube::kPods, ns); }
  std::vector<std::string> pod_names(const std::string& ns = "shop") {
    std::vector<std::string> names;
    for (const Object& pod : pods(ns)) names.push_back(api::text_at(*pod, {"metadata", "name"}));
    return names;
  }
  int ready_pods(const std::string& ns = "shop") {
    int count = 0;
    for (const Object& pod : pods(ns)) count += facts_of(*pod).ready && facts_of(*pod).is_active();
    return count;
  }
  std::string node_of(const std::string& pod_name) {
    const Object found = pod(pod_name);
    return found ? api::text_at(*found, {"spec", "nodeName"}) : "(no pod)";
  }
  /// Returns the number at status.<field>, or -1 if it is absent.
  std::int64_t status(const kube::ResourceType& type, const std::string& name, const char* field,
                      const std::string& ns = "shop") {
    const Object found = get(type, ns, name);
    return found ? api::number_at(*found, {"status", field}).value_or(-1) : -1;
  }
  std::string condition(const Object& object, std::string_view type, const char* field = "status") {
    const api::Json* found = object ? condition_of(*object, type) : nullptr;
    return found ? api::text_at(*found, {field}) : "(none)";
  }

  void edit(const kube::ResourceType& type, const std::string& ns, const std::string& name,
            const std::function<void(api::Json&)>& change) {
    const auto edited = cluster.store().mutate(type, {ns, name}, Part::kAll, [&](api::Json& object) -> base::Status {
      change(object);
      return base::Done{};
    });
    EXPECT_TRUE(edited.ok()) << (edited ? "" : edited.error().message);
  }
  void annotate(const kube::ResourceType& type, const std::string& ns, const std::string& name, std::string_view key,
                const std::string& value) {
    edit(type, ns, name, [&](api::Json& object) { objects::annotate(object, key, value); });
  }
  void unannotate(const kube::ResourceType& type, const std::string& ns, const std::string& name,
                  std::string_view key) {
    edit(type, ns, name, [&](api::Json& object) { object["metadata"]["annotations"].erase(std::string(key)); });
  }
  void remove(const kube::ResourceType& type, const std::string& ns, const std::string& name) {
    const auto removed = cluster.store().remove(type, {ns, name});
    EXPECT_TRUE(removed.ok()) << (removed ? "" : removed.error().message);
  }
  bool has_event(std::string_view reason, std::string_view about = {}) {
    for (const Object& event : cluster.store().list(kube::kEvents)) {
      if (api::text_at(*event, {"reason"}) == reason &&
          (about.empty() || api::text_at(*event, {"regarding", "name"}) == about))
        return true;
    }
    return false;
  }

  base::ManualClock clock{*base::parse_time("2026-11-21T12:00:00Z")};
  Cluster cluster;
};

using base::milliseconds;
using base::minutes;
using base::seconds;

/// A pod of namespace shop that is already bound, for worlds without a scheduler.
inline api::Json bound_pod(const char* name, const char* node = "node-1") {
  api::Json pod = objects::pod("shop", name, "100m", "64Mi");
  pod["spec"]["nodeName"] = node;
  return pod;
}

}  // namespace simulator
