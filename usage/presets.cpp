#include "usage/presets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kube/config/url.hpp"

namespace usage {
namespace {

using api::UsageOf;
using api::UsageUnit;

// In expressions, $node stands for the labels that name a node, $namespace and $pod for those of a pod. The inner max()
// counts a series scraped by two jobs only once. Three minutes contain two samples at any usual scrape interval.
constexpr std::string_view kNodeExporterCpu =
    "sum by ($node) (max by ($node, cpu, mode) "
    "(rate(node_cpu_seconds_total{mode!~\"idle|iowait|steal\"}[3m])))";
constexpr std::string_view kNodeExporterMemory =
    "max by ($node) (node_memory_MemTotal_bytes) - max by ($node) (node_memory_MemAvailable_bytes)";
constexpr std::string_view kCAdvisorNodeCpu = "max by ($node) (rate(container_cpu_usage_seconds_total{id=\"/\"}[3m]))";
constexpr std::string_view kCAdvisorNodeMemory = "max by ($node) (container_memory_working_set_bytes{id=\"/\"})";
constexpr std::string_view kCAdvisorPodCpu =
    "sum by ($namespace, $pod) (max by ($namespace, $pod, container) "
    "(rate(container_cpu_usage_seconds_total{container!=\"\",container!=\"POD\",$pod!=\"\"}[3m])))";
constexpr std::string_view kCAdvisorPodMemory =
    "sum by ($namespace, $pod) (max by ($namespace, $pod, container) "
    "(container_memory_working_set_bytes{container!=\"\",container!=\"POD\",$pod!=\"\"}))";
constexpr std::string_view kPressureCpu = "max by ($node) (rate(node_pressure_cpu_waiting_seconds_total[3m]))";
constexpr std::string_view kPressureMemory = "max by ($node) (rate(node_pressure_memory_waiting_seconds_total[3m]))";
constexpr std::string_view kPressureIo = "max by ($node) (rate(node_pressure_io_waiting_seconds_total[3m]))";
constexpr std::string_view kNetwork =
    "sum by ($node) (max by ($node, device) (rate(node_network_receive_bytes_total{device=~\"e.*|wl.*|ib.*\"}[3m]))) + "
    "sum by ($node) (max by ($node, device) (rate(node_network_transmit_bytes_total{device=~\"e.*|wl.*|ib.*\"}[3m])))";
constexpr std::string_view kDisk =
    "max by ($node) (rate(node_disk_io_time_seconds_total{device!~\"dm-.*|loop.*|sr.*|ram.*|zram.*\"}[3m]))";

constexpr std::string_view kNodeExporter = "node_exporter 1.0 or newer";
constexpr std::string_view kCAdvisor = "the kubelet's /metrics/cadvisor";
constexpr std::string_view kPressureNeeds = "node_exporter 1.0 or newer and a kernel with PSI";

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

std::string_view or_else(const std::string& text, std::string_view otherwise) {
  return text.empty() ? otherwise : std::string_view(text);
}

bool is_label_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

void check_label(const std::string& label, const api::FieldPath& at, api::FieldErrors& errors) {
  if (!label.empty() && !is_label_name(label))
    errors.push_back({at.text(), "is not a valid name of a Prometheus label"});
}

std::string preset_names() {
  std::string text;
  for (const Preset& preset : presets()) {
    if (!text.empty()) text += ", ";
    text += preset.name;
  }
  return text;
}

void check_preset(const api::UsageQuery& query, const api::FieldPath& at, api::FieldErrors& errors) {
  if (query.preset.empty()) return;
  const Preset* preset = find_preset(query.preset);
  if (preset == nullptr) {
    errors.push_back({at.field("preset").text(), "is not one of " + preset_names()});
    return;
  }
  if (preset->of != query.of)
    errors.push_back({at.field("of").text(),
                      fmt::format("{} measures {}", query.preset, preset->of == UsageOf::kNode ? "nodes" : "pods")});
  const bool is_fixed = preset->resource == "cpu" || preset->resource == "memory";
  if (is_fixed && query.resource != preset->resource)
    errors.push_back({at.field("resource").text(), fmt::format("{} measures {}", query.preset, preset->resource)});
  if (!is_fixed && (query.resource == "cpu" || query.resource == "memory"))
    errors.push_back({at.field("resource").text(), fmt::format("{} does not measure {}; rename it to {}", query.preset,
                                                               query.resource, preset->resource)});
  if (query.unit != UsageUnit::kAmount && query.unit != preset->unit)
    errors.push_back({at.field("unit").text(), "remove it: a preset has its own"});
}

void check_queries(const api::UsageSource& source, const api::FieldPath& at, api::FieldErrors& errors) {
  std::set<std::pair<UsageOf, std::string_view>> columns;
  for (std::size_t i = 0; i < source.queries.size(); ++i) {
    const api::UsageQuery& query = source.queries[i];
    check_preset(query, at.index(i), errors);
    check_label(query.node_label, at.index(i).field("nodeLabel"), errors);
    check_label(query.namespace_label, at.index(i).field("namespaceLabel"), errors);
    check_label(query.pod_label, at.index(i).field("podLabel"), errors);
    if (!columns.emplace(query.of, query.resource).second)
      errors.push_back({at.index(i).field("resource").text(), fmt::format("\"{}\" occurs twice", query.resource)});
  }
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = {
      {"NodeExporterCPU", "cpu", UsageOf::kNode, UsageUnit::kAmount, kNodeExporterCpu, kNodeExporter},
      {"NodeExporterMemory", "memory", UsageOf::kNode, UsageUnit::kAmount, kNodeExporterMemory, kNodeExporter},
      {"NodeExporterNetwork", "network", UsageOf::kNode, UsageUnit::kAmount, kNetwork, kNodeExporter},
      {"NodeExporterDisk", "disk", UsageOf::kNode, UsageUnit::kFraction, kDisk, kNodeExporter},
      {"NodePressureCPU", "cpu-pressure", UsageOf::kNode, UsageUnit::kFraction, kPressureCpu, kPressureNeeds},
      {"NodePressureMemory", "memory-pressure", UsageOf::kNode, UsageUnit::kFraction, kPressureMemory, kPressureNeeds},
      {"NodePressureIO", "io-pressure", UsageOf::kNode, UsageUnit::kFraction, kPressureIo, kPressureNeeds},
      {"CAdvisorNodeCPU", "cpu", UsageOf::kNode, UsageUnit::kAmount, kCAdvisorNodeCpu, kCAdvisor},
      {"CAdvisorNodeMemory", "memory", UsageOf::kNode, UsageUnit::kAmount, kCAdvisorNodeMemory, kCAdvisor},
      {"CAdvisorPodCPU", "cpu", UsageOf::kPod, UsageUnit::kAmount, kCAdvisorPodCpu, kCAdvisor},
      {"CAdvisorPodMemory", "memory", UsageOf::kPod, UsageUnit::kAmount, kCAdvisorPodMemory, kCAdvisor},
  };
  return all;
}

const Preset* find_preset(std::string_view name) {
  const auto found = std::ranges::find(presets(), name, &Preset::name);
  return found == presets().end() ? nullptr : &*found;
}

void fill_preset(api::UsageQuery& query) {
  const Preset* preset = query.preset.empty() ? nullptr : find_preset(query.preset);
  if (preset == nullptr) return;
  query.query = preset->query;
  query.unit = preset->unit;
  replace_all(query.query, "$namespace", or_else(query.namespace_label, "namespace"));
  replace_all(query.query, "$node", or_else(query.node_label, "node, instance"));
  replace_all(query.query, "$pod", or_else(query.pod_label, "pod"));
}

api::FieldErrors problems(const api::UsageSource& source) {
  api::FieldErrors errors;
  const bool is_prometheus = source.type == api::UsageSourceType::kPrometheus;
  if (!is_prometheus && source.type != api::UsageSourceType::kLoadWatcher) return errors;
  const api::FieldPath at(is_prometheus ? "prometheus" : "loadWatcher");
  errors = url_problems(source.endpoint, at.field("url"));
  if (is_prometheus) check_queries(source, at.field("queries"), errors);
  return errors;
}

api::FieldErrors url_problems(const api::UsageEndpoint& endpoint, const api::FieldPath& at) {
  if (!endpoint.url.starts_with("http://") && !endpoint.url.starts_with("https://")) return {};
  const auto url = kube::parse_url(endpoint.url);
  if (!url) return {{at.text(), url.error().message}};
  if (!url->user_info.empty()) return {{at.text(), "must not contain a user name or a password: use basicAuth"}};
  return {};
}

}  // namespace usage
