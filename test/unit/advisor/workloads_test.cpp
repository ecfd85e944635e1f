#include "advisor/workloads.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "advisor/conflicts.hpp"

namespace advising_workloads_test {

using namespace advisor;
using api::Json;

Json read(const char* text) { return *api::parse_json(text); }

std::string name_of(const Owner& owner) {
  if (owner.is_ambiguous) return "ambiguous";
  return owner.workload == nullptr ? "" : owner.workload->kind + "/" + owner.workload->name;
}

TEST(Owners, RecognizePastPodsByName) {
  Owners owners;
  for (const WorkloadKey& key : std::vector<WorkloadKey>{{"shop", "Deployment", "web"},
                                                         {"shop", "StatefulSet", "db"},
                                                         {"shop", "DaemonSet", "agent"},
                                                         {"shop", "CronJob", "report"},
                                                         {"shop", "Job", "once"},
                                                         {"shop", "Pod", "lone"},
                                                         {"shop", "DaemonSet", "web-blue-5f6d7c8b9"},
                                                         {"shop", "Deployment", "web-blue"}})
    owners.add_workload(key, 1);
  const std::pair<const char*, const char*> table[] = {
      {"web-7d4b9c6f5-x2x9z", "Deployment/web"},
      {"web-7d4b9c6f5-x2x9", ""},   // Suffix too short
      {"web-7d4b9c6f5-aeiou", ""},  // Not the alphabet of generated names
      {"web-abcdef-x2x9z", ""},     // No hash
      {"db-0", "StatefulSet/db"},
      {"db-x", ""},
      {"agent-x2x9z", "DaemonSet/agent"},
      {"report-29384756-x2x9z", "CronJob/report"},
      {"once-x2x9z", "Job/once"},
      {"lone", "Pod/lone"},
      {"lone-0", ""},
      {"web-blue-5f6d7c8b9-x2x9z", "ambiguous"},
      {"web-blue-5f6d7c8b8-x2x9z", "Deployment/web-blue"},
      {"-", ""},
      {"", ""},
  };
  for (const auto& [pod, owner] : table) EXPECT_EQ(name_of(owners.of("shop", pod)), owner) << pod;
  EXPECT_EQ(name_of(owners.of("other", "web-7d4b9c6f5-x2x9z")), "");
}

TEST(Inventory, FollowsOwnersToTheWorkload) {
  InventoryBuilder builder;
  builder.add(read(R"({"kind":"Deployment","apiVersion":"apps/v1","metadata":{"namespace":"shop","name":"web"},"spec":
    {"template":{"spec":{"containers":[{"name":"app","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}],
    "initContainers":[{"name":"proxy","restartPolicy":"Always"},{"name":"init"}]}}}})"));
  builder.add(read(R"({"kind":"ReplicaSet","metadata":{"namespace":"shop","name":"web-1","ownerReferences":
    [{"controller":true,"kind":"Deployment","name":"web"}]}})"));
  builder.add(read(R"({"kind":"Pod","metadata":{"namespace":"shop","name":"any","ownerReferences":
    [{"controller":true,"kind":"ReplicaSet","name":"web-1"}]},"spec":{"containers":[{"name":"app"},{"name":"mesh"}]},
    "status":{"phase":"Running","startTime":"2026-11-02T00:00:00Z","containerStatuses":
    [{"name":"app","lastState":{"terminated":{"reason":"OOMKilled"}}}]}})"));
  builder.add(read(R"({"kind":"Pod","metadata":{"namespace":"shop","name":"p2","labels":{"pod-template-hash":"9c6f5"},
    "ownerReferences":[{"controller":true,"kind":"ReplicaSet","name":"api-9c6f5"}]},"spec":{"containers":[{"name":"x"}]}})"));
  builder.add(read(R"({"kind":"Pod","metadata":{"namespace":"other","name":"p3"}})"));
  builder.add(read(R"({"kind":"Pod"})"));
  builder.add(read(R"(["no object"])"));
  const Inventory inventory = std::move(builder).finish("shop");
  ASSERT_EQ(inventory.workloads.size(), 2U);
  const Workload& web = inventory.workloads.at({"shop", "Deployment", "web"});
  EXPECT_EQ(web.replicas, 1);
  EXPECT_EQ(web.api_version, "apps/v1");
  ASSERT_EQ(web.containers.size(), 3U);
  const ContainerSpec& app = *web.container("app");
  EXPECT_EQ(app.resources.cpu_request, 1) << "a request that is left out is the limit";
  EXPECT_EQ(app.resources.memory_limit, 1024.0 * 1024 * 1024);
  EXPECT_EQ(app.oom_kills, 1U);
  EXPECT_TRUE(app.is_in_template);
  EXPECT_TRUE(web.container("proxy")->is_sidecar);
  EXPECT_FALSE(web.container("mesh")->is_in_template) << "a webhook adds it to pods";
  EXPECT_EQ(name_of(inventory.owners.of("shop", "any")), "Deployment/web");
  EXPECT_TRUE(inventory.owners.started("shop", "any"));
  EXPECT_EQ(inventory.workloads.count({"shop", "Deployment", "api"}), 1U) << "its ReplicaSet was not shown";
}

TEST(HeapFlags, AreParsedLikeTheJvm) {
  const auto flags = [](const char* text) {
    HeapFlags found;
    read_heap_flags(text, found);
    return found;
  };
  const double mib = 1024.0 * 1024;
  EXPECT_EQ(flags("java -Xms1g -Xmx512m -jar a.jar").max_heap_bytes, 512 * mib);
  EXPECT_EQ(flags("-Xmx1G -Xmx2G").max_heap_bytes, 2048 * mib) << "the last one counts";
  EXPECT_EQ(flags("'-XX:MaxHeapSize=1048576'").max_heap_bytes, mib);
  EXPECT_EQ(flags("-XX:MaxRAMPercentage=75.0").max_ram_percent, 75);
  for (const char* text : {"", "-Xmx", "-Xmxlots", "-Xmx0", "-Xmx5x", "-Xmx5mm", "-Xmx99999999999999999999",
                           "-XX:MaxRAMPercentage=", "-XX:MaxRAMPercentage=-5", "-XX:MaxRAMPercentage=500", "Xmx5m"})
    EXPECT_EQ(flags(text), HeapFlags()) << text;
  const HeapFlags both = heap_flags_of(read(R"({"command":["java","-Xmx2g"],"env":[{"name":"JAVA_TOOL_OPTIONS","value":
    "-Xmx1g -XX:MaxRAMPercentage=50"},{"name":"x","valueFrom":{}},5]})"));
  EXPECT_EQ(both.max_heap_bytes, 2048 * mib) << "the command line beats the environment";
  EXPECT_EQ(both.max_ram_percent, 50);
}

TEST(Autoscalers, AreReportedIfTheyDependOnRequests) {
  const auto text = [](const char* json) {
    const auto found = autoscaler_of(read(json));
    if (!found) return std::string();
    return found->target_kind + "/" + found->target_name + (found->by_cpu ? " cpu" : "") +
           (found->by_memory ? " memory" : "") + " " + found->mode;
  };
  EXPECT_EQ(text(R"({"kind":"HorizontalPodAutoscaler","spec":{"scaleTargetRef":{"kind":"Deployment","name":"web"},
    "metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization"}}},
    {"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue"}}}]}})"),
            "Deployment/web cpu ");
  EXPECT_EQ(text(R"({"kind":"HorizontalPodAutoscaler","spec":{"scaleTargetRef":{"kind":"Deployment","name":"web"},
    "metrics":[{"type":"ContainerResource","containerResource":{"name":"memory","target":{"type":"Utilization"}}}]}})"),
            "Deployment/web memory ");
  EXPECT_EQ(text(R"({"kind":"HorizontalPodAutoscaler","spec":{"scaleTargetRef":{"kind":"Deployment","name":"web"},
    "targetCPUUtilizationPercentage":80}})"),
            "Deployment/web cpu ");
  EXPECT_EQ(text(R"({"kind":"HorizontalPodAutoscaler","spec":{"scaleTargetRef":{"kind":"Deployment","name":"web"},
    "metrics":[{"type":"External"}]}})"),
            "");
  EXPECT_EQ(text(R"({"kind":"VerticalPodAutoscaler","spec":{"targetRef":{"kind":"Deployment","name":"web"}}})"),
            "Deployment/web cpu memory Auto");
  EXPECT_EQ(text(R"({"kind":"VerticalPodAutoscaler","spec":{"targetRef":{"kind":"Deployment","name":"web"},
    "updatePolicy":{"updateMode":"Off"}}})"),
            "");
  EXPECT_EQ(text(R"({"kind":"VerticalPodAutoscaler","spec":7})"), "");
}

}  // namespace advising_workloads_test
