#include "cmd/extender/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "api/json/log_names.hpp"
#include "api/json/strict_object.hpp"
#include "api/json/yaml.hpp"
#include "planner/strategies/common_args.hpp"

namespace extender {
namespace {

using api::StrictObject;
using Kind = ScoreRule::Kind;

constexpr std::array kRules = {
    api::WireName<Kind>{Kind::kTargetLoadPacking, "TargetLoadPacking"},
    api::WireName<Kind>{Kind::kLoadVariationRiskBalancing, "LoadVariationRiskBalancing"},
};
constexpr std::int64_t kMinBody = std::int64_t{64} << 10;
constexpr std::int64_t kMaxBody = std::int64_t{64} << 20;
constexpr double kTargetCpu = 40;

void read_server(StrictObject& server, ExtenderConfig& config) {
  server.read("address", config.address);
  server.read("certFile", config.cert_file);
  server.read("keyFile", config.key_file);
  server.read("clientCAFile", config.client_ca_file);
  server.read("healthAddress", config.health_address);
  server.read("metricsAddress", config.metrics_address);
  server.read("maxBodyBytes", config.max_body_bytes);
  if (config.max_body_bytes < kMinBody || config.max_body_bytes > kMaxBody)
    server.complain("maxBodyBytes", fmt::format("must be from {} to {}", kMinBody, kMaxBody));
  if (config.cert_file.empty() != config.key_file.empty())
    server.complain("certFile", "must be set together with keyFile");
  if (!config.client_ca_file.empty() && config.cert_file.empty())
    server.complain("clientCAFile", "needs certFile and keyFile");
}

void read_args(StrictObject& args, ScoreRule& rule) {
  if (rule.kind == Kind::kTargetLoadPacking) {
    rule.target = {{"cpu", kTargetCpu}};
    if (args.find("target") != nullptr)
      rule.target = strategies::read_percentages(args, "target", strategies::ResourceRule::kMeasured);
    for (const auto& [resource, percent] : rule.target) {
      if (percent <= 0 || percent >= 100) args.complain("target", "every percentage must be between 0 and 100");
    }
    return;
  }
  args.read("resources", rule.risk.resources);
  args.read("margin", rule.risk.margin);
  args.read("sensitivity", rule.risk.sensitivity);
  if (rule.risk.resources.empty()) args.complain("resources", "must name a resource");
  if (rule.risk.margin < 0 || rule.risk.margin > 10) args.complain("margin", "must be from 0 to 10");
  if (rule.risk.sensitivity <= 0 || rule.risk.sensitivity > 10)
    args.complain("sensitivity", "must be above 0 and at most 10");
}

ScoreRule read_rule(const api::Json& json, const api::FieldPath& path, api::FieldErrors& errors) {
  ScoreRule rule;
  StrictObject object(json, path, errors);
  if (object.find("name") == nullptr) object.complain("name", "is required");
  object.read("name", kRules, rule.kind);
  object.read("weight", rule.weight);
  if (rule.weight <= 0 || rule.weight > 1000) object.complain("weight", "must be above 0 and at most 1000");
  if (rule.kind == Kind::kTargetLoadPacking && object.find("args") == nullptr) rule.target = {{"cpu", kTargetCpu}};
  object.with("args", [&](StrictObject& args) { read_args(args, rule); });
  object.finish();
  return rule;
}

void read_critical(StrictObject& root, ExtenderConfig& config) {
  const api::Json* given = root.find("critical");
  if (given == nullptr) return;
  config.critical.clear();
  if (given->is_object() && given->empty()) return;
  config.critical = strategies::read_percentages(root, "critical", strategies::ResourceRule::kMeasured);
}

void read_sources(StrictObject& root, ExtenderConfig& config, api::FieldErrors& errors) {
  root.for_each("usageSources", [&](const api::Json& item, const api::FieldPath& path) {
    config.usage_sources.push_back(api::read_usage_source(item, path, errors));
  });
  root.read("source", config.source);
  const api::FieldPath at = api::FieldPath().field("usageSources");
  api::validate_usage_sources(config.usage_sources, at, errors);
  if (config.usage_sources.empty()) errors.push_back({"usageSources", "must name a source"});
  if (!config.usage_sources.empty() && config.chosen_source() == nullptr)
    root.complain("source", fmt::format("there is no source \"{}\" in usageSources", config.source));
}

void read_config(StrictObject& root, ExtenderConfig& config, api::FieldErrors& errors) {
  root.with("server", [&](StrictObject& server) { read_server(server, config); });
  read_sources(root, config, errors);
  root.for_each("strategies", [&](const api::Json& item, const api::FieldPath& path) {
    config.rules.push_back(read_rule(item, path, errors));
  });
  if (config.rules.empty()) config.rules.emplace_back();
  read_critical(root, config);
  root.read("sparedNamespaces", config.exempt_namespaces);
  root.read("placementHints", config.placement_hints);
  root.read("operatorNamespace", config.operator_namespace);
  root.with("client", [&](StrictObject& client) {
    client.read("qps", config.qps);
    client.read("burst", config.burst);
    if (config.qps <= 0 || config.burst < 1) client.complain("qps", "must be above 0, and burst at least 1");
  });
  root.with("logging", [&](StrictObject& logging) {
    logging.read("level", api::kLogLevels, config.log_level);
    logging.read("format", api::kLogFormats, config.log_format);
  });
  root.finish();
}

}  // namespace

std::vector<std::string> ExtenderConfig::resources() const {
  std::set<std::string> names;
  for (const auto& [resource, percent] : critical) names.insert(resource);
  for (const ScoreRule& rule : rules) {
    if (rule.kind == Kind::kLoadVariationRiskBalancing)
      names.insert(rule.risk.resources.begin(), rule.risk.resources.end());
    for (const auto& [resource, percent] : rule.target) names.insert(resource);
  }
  return {names.begin(), names.end()};
}

const api::UsageSource* ExtenderConfig::chosen_source() const {
  if (usage_sources.empty()) return nullptr;
  if (source.empty()) return &usage_sources.front();
  const auto at = std::ranges::find(usage_sources, source, &api::UsageSource::name);
  return at == usage_sources.end() ? nullptr : &*at;
}

base::Result<ExtenderConfig> parse_extender_config(std::string_view yaml) {
  const auto documents = api::parse_yaml(yaml);
  if (!documents) return documents.error();
  if (documents->size() != 1) return base::invalid("must be one YAML document");
  ExtenderConfig config;
  api::FieldErrors errors;
  StrictObject root(documents->front(), api::FieldPath(), errors);
  read_config(root, config, errors);
  if (!errors.empty()) return api::to_error(errors);
  return config;
}

}  // namespace extender
