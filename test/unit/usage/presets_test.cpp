#include "usage/presets.hpp"

#include <gtest/gtest.h>

#include <set>

namespace usage_presets_test {

api::UsageSource source_of(std::vector<api::UsageQuery> queries) {
  api::UsageSource source;
  source.type = api::UsageSourceType::kPrometheus;
  source.endpoint.url = "http://prometheus:9090";
  source.queries = std::move(queries);
  return source;
}
api::UsageQuery preset(const std::string& name, const std::string& resource) {
  api::UsageQuery query;
  query.preset = name;
  query.resource = resource;
  return query;
}
std::string told(const api::UsageSource& source) {
  std::string text;
  for (const auto& error : usage::problems(source)) text += (text.empty() ? "" : "; ") + error.to_string();
  return text;
}

TEST(Presets, AreFoundByName) {
  std::set<std::string_view> names;
  for (const auto& one : usage::presets()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_EQ(usage::find_preset(one.name), &one);
  }
  EXPECT_EQ(usage::find_preset("NodeExporterGPU"), nullptr);
}

TEST(Presets, AreValid) {
  for (const auto& one : usage::presets()) {
    auto query = preset(std::string(one.name), std::string(one.resource));
    query.of = one.of;
    EXPECT_EQ(told(source_of({query})), "") << one.name;
    usage::fill_preset(query);
    EXPECT_EQ(query.query.find('$'), std::string::npos) << query.query;
    EXPECT_EQ(query.unit, one.unit);
  }
}

TEST(Presets, TakeTheLabelsOfTheQuery) {
  auto query = preset("CAdvisorNodeMemory", "memory");
  query.node_label = "kubernetes_node";
  usage::fill_preset(query);
  EXPECT_EQ(query.query, "max by (kubernetes_node) (container_memory_working_set_bytes{id=\"/\"})");
}

TEST(Problems, AreReported) {
  EXPECT_EQ(told(source_of({})), "") << "a strategy brings the query, as upstream's do";
  EXPECT_TRUE(told(source_of({preset("NodeExporterGPU", "gpu")}))
                  .starts_with("prometheus.queries[0].preset: is not one of NodeExporterCPU, NodeExporterMemory, "));
  EXPECT_EQ(told(source_of({preset("NodeExporterCPU", "memory")})),
            "prometheus.queries[0].resource: NodeExporterCPU measures cpu");
  EXPECT_EQ(told(source_of({preset("NodePressureCPU", "cpu")})),
            "prometheus.queries[0].resource: NodePressureCPU does not measure cpu; rename it to cpu-pressure");
  EXPECT_EQ(told(source_of({preset("CAdvisorPodCPU", "cpu")})),
            "prometheus.queries[0].of: CAdvisorPodCPU measures pods");
  EXPECT_EQ(told(source_of({preset("NodeExporterCPU", "cpu"), preset("CAdvisorNodeCPU", "cpu")})),
            "prometheus.queries[1].resource: \"cpu\" occurs twice");
  auto query = preset("NodeExporterCPU", "cpu");
  query.unit = api::UsageUnit::kPercent;
  query.node_label = "a) or up{";
  EXPECT_EQ(told(source_of({query})),
            "prometheus.queries[0].unit: remove it: a preset has its own; prometheus.queries[0].nodeLabel: is not a "
            "valid name of a Prometheus label");
}

TEST(Problems, OfUrls) {
  auto source = source_of({preset("NodeExporterCPU", "cpu")});
  source.endpoint.url = "https://me:hunter2@prometheus";
  EXPECT_EQ(told(source), "prometheus.url: must not contain a user name or a password: use basicAuth");
  source.endpoint.url = "https://prometheus?x=1";
  EXPECT_EQ(told(source), "prometheus.url: the URL must not contain a query, fragment or blank");
  source.type = api::UsageSourceType::kLoadWatcher;
  EXPECT_EQ(told(source), "loadWatcher.url: the URL must not contain a query, fragment or blank");
  source.type = api::UsageSourceType::kMetricsServer;
  EXPECT_EQ(told(source), "");
}

}  // namespace usage_presets_test
