#include "api/policy/gates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "api/json/lenient.hpp"
#include "api/meta/names.hpp"
#include "api/policy/bounds.hpp"

namespace api {
namespace {

constexpr std::array kGateNames = {WireName{GateType::kPrometheus, "prometheus"},
                                   WireName{GateType::kAlertmanager, "alertmanager"},
                                   WireName{GateType::kWebhook, "webhook"}};
constexpr std::array kOnErrorNames = {WireName{GateOnError::kHold, "Hold"}, WireName{GateOnError::kIgnore, "Ignore"}};

void read_block(StrictObject& block, PolicyGate& gate) {
  if (gate.type == GateType::kPrometheus) {
    block.read("source", gate.source);
    block.read("query", gate.query);
  }
  if (gate.type == GateType::kAlertmanager) block.read("matchers", gate.matchers);
  read_usage_endpoint(block, gate.endpoint);
}

void check_server(const PolicyGate& gate, const std::vector<UsageSource>& sources, const FieldPath& at,
                  FieldErrors& errors) {
  if (gate.source.empty()) return validate_usage_endpoint(gate.endpoint, at, errors);
  if (!gate.endpoint.url.empty()) errors.push_back({at.field("url").text(), "must not be there beside source"});
  const auto known = std::ranges::find(sources, gate.source, &UsageSource::name);
  if (known == sources.end() || known->type != UsageSourceType::kPrometheus)
    errors.push_back({at.field("source").text(),
                      fmt::format("\"{}\" is not a Prometheus source in spec.usageSources", gate.source)});
}

void check_gate(const PolicyGate& gate, const std::vector<UsageSource>& sources, const FieldPath& at,
                FieldErrors& errors) {
  if (!is_dns_label(gate.name)) errors.push_back({at.field("name").text(), "must be a DNS label, such as no-incident"});
  const FieldPath block = at.field(to_string(gate.type));
  check_server(gate, sources, block, errors);
  check_duration(errors, at.field("interval"), gate.interval, bounds::kMinInterval, std::chrono::hours(1));
  if (gate.type == GateType::kPrometheus && gate.query.empty())
    errors.push_back({block.field("query").text(), "is required"});
  check_length(errors, block.field("query"), gate.query, bounds::kMaxQueryText);
  check_items(errors, block.field("matchers"), gate.matchers.size(), bounds::kMaxMatchers);
}

}  // namespace

std::string_view to_string(GateType type) { return name_of(kGateNames, type); }

PolicyGate read_gate(const Json& json, const FieldPath& path, FieldErrors& errors) {
  PolicyGate gate;
  StrictObject object(json, path, errors);
  object.read("name", gate.name);
  object.read_duration("interval", gate.interval);
  object.read("onError", kOnErrorNames, gate.on_error);
  int blocks = 0;
  for (const auto& [type, name] : kGateNames) {
    object.with(name, [&, kind = type](StrictObject& block) {
      gate.type = kind;
      ++blocks;
      read_block(block, gate);
    });
  }
  object.finish();
  if (blocks != 1) errors.push_back({path.text(), "must have exactly one of prometheus, alertmanager and webhook"});
  return gate;
}

Json encode_gate(const PolicyGate& gate) {
  Json block = Json::object();
  encode_usage_endpoint(gate.endpoint, block);
  put_text(block, "source", gate.source);
  put_text(block, "query", gate.query);
  for (const auto& [name, value] : gate.matchers) block["matchers"][name] = value;
  return {{"name", gate.name},
          {"interval", base::format_duration(gate.interval)},
          {"onError", name_of(kOnErrorNames, gate.on_error)},
          {std::string(to_string(gate.type)), std::move(block)}};
}

void validate_gates(const std::vector<PolicyGate>& gates, const std::vector<UsageSource>& sources, const FieldPath& at,
                    FieldErrors& errors) {
  check_items(errors, at, gates.size(), bounds::kMaxGates);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    check_gate(gates[i], sources, at.index(i), errors);
    if (!names.insert(gates[i].name).second)
      errors.push_back({at.index(i).field("name").text(), fmt::format("\"{}\" occurs twice", gates[i].name)});
  }
}

}  // namespace api
