/// Converts the metrics of a case to the usage that our sources would provide.

#include <algorithm>

#include "test/conformance/conformance_case.hpp"

namespace conformance {
namespace {

using scheduling::kUnknownUsage;
using scheduling::MeasuredUsage;

/// Returns the named object, or an empty one. Do not iterate over the temporary.
Json object_of(const Json& json, const char* name) { return json.value(name, Json::object()); }

std::int64_t amount_of(const Json& amounts, const std::string& resource) {
  if (!amounts.contains(resource)) return kUnknownUsage;
  return api::Quantity::parse(amounts.at(resource).get<std::string>()).value().milli();
}

/// Names are sorted, because they are keys of a JSON object.
MeasuredUsage of_metrics_server(const Json& usage) {
  MeasuredUsage measured;
  measured.source = "KubernetesMetrics";
  measured.resources = {{"cpu"}, {"memory"}};
  const auto amounts = [&](const Json& each) { return std::vector{amount_of(each, "cpu"), amount_of(each, "memory")}; };
  const Json nodes = object_of(usage, "nodes");
  const Json of_pods = object_of(usage, "pods");
  for (const auto& [name, node] : nodes.items())
    measured.nodes.push_back({.name = name, .problem = "", .now = amounts(node), .foreseen = {}, .samples = {}});
  std::vector<std::pair<std::pair<std::string, std::string>, std::vector<std::int64_t>>> pods;
  for (const auto& [key, pod] : of_pods.items()) {
    const auto slash = key.find('/');
    pods.push_back({{key.substr(0, slash), key.substr(slash + 1)}, amounts(pod)});
  }
  std::ranges::sort(pods);
  std::vector<scheduling::MeasuredUsage::Pod> rows;
  std::vector<std::int64_t> all;
  for (const auto& [name, each] : pods) {
    rows.push_back({name.first, name.second});
    all.insert(all.end(), each.begin(), each.end());
  }
  measured.pods = scheduling::SharedVector(std::move(rows));
  measured.pod_amounts = scheduling::SharedVector(std::move(all));
  return measured;
}

/// Returns upstream's error: the answer is no vector, a sample has no node, or a value is outside 0 to 1.
std::string problem_of(const Json& usage) {
  if (usage.value("resultType", "vector") != "vector") return "the answer is no vector";
  const Json samples = usage.value("samples", Json::array());
  for (const Json& sample : samples) {
    if (!sample.at("metric").contains("instance")) return "a sample has no label instance";
    const double value = sample.at("value").get<double>();
    if (value < 0 || value > 1) return "a value is not between 0 and 1";
  }
  return "";
}

MeasuredUsage of_prometheus(const Json& usage, const std::string& query) {
  MeasuredUsage measured{.source = "Prometheus: " + query,
                         .resources = {{scheduling::kMetricResource, true}},
                         .nodes = {},
                         .pods = {},
                         .problem = problem_of(usage)};
  const Json nodes = object_of(usage, "nodes");
  for (const auto& [name, node] : nodes.items()) {
    measured.nodes.push_back(
        {.name = name, .problem = "", .now = {amount_of(node, "MetricResource")}, .foreseen = {}, .samples = {}});
  }
  return measured;
}

}  // namespace

std::vector<std::shared_ptr<const MeasuredUsage>> usage_of(const Case& each) {
  const Json usage = without_nulls(each.json.value("usage", Json::object()));
  if (usage.empty()) return {};
  const Json args = without_nulls(each.json.at("args"));
  const std::string query = args.value(Json::json_pointer("/metricsUtilization/prometheus/query"), "");
  MeasuredUsage measured =
      usage.value("source", "") == "Prometheus" ? of_prometheus(usage, query) : of_metrics_server(usage);
  return {std::make_shared<const MeasuredUsage>(std::move(measured))};
}

}  // namespace conformance
