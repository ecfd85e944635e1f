#include "api/descheduler_policy/node_classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/json/lenient.hpp"
#include "api/wire_names.hpp"

namespace api {
namespace {

constexpr std::array kNodeClassNames = {
    WireName{NodeClass::kOverutilized, "Overutilized"}, WireName{NodeClass::kUnderutilized, "Underutilized"},
    WireName{NodeClass::kAppropriate, "Appropriate"},   WireName{NodeClass::kUnknown, "Unknown"},
    WireName{NodeClass::kOutOfScope, "OutOfScope"},     WireName{NodeClass::kNotConsidered, "NotConsidered"}};

struct CountField {
  const char* name;
  std::string_view words;
  std::int32_t NodeClasses::*count;
};
/// In the order of summary().
constexpr std::array kCountFields = {CountField{"overutilized", "overutilized", &NodeClasses::over},
                                     CountField{"underutilized", "underutilized", &NodeClasses::under},
                                     CountField{"appropriate", "appropriately utilized", &NodeClasses::appropriate},
                                     CountField{"unknown", "of unknown usage", &NodeClasses::unknown},
                                     CountField{"outOfScope", "out of scope", &NodeClasses::out_of_scope},
                                     CountField{"notConsidered", "not considered", &NodeClasses::not_considered}};

ClassifiedNode classified_node_of(const Json& json) {
  return {lenient::text(json, "node"),
          value_of(kNodeClassNames, lenient::text(json, "class")).value_or(NodeClass::kUnknown),
          lenient::boolean(json, "cordoned"), lenient::text(json, "reason")};
}

}  // namespace

std::string_view to_string(NodeClass node_class) { return name_of(kNodeClassNames, node_class); }

std::string NodeClasses::summary() const {
  std::string text = fmt::format("{} node{}", total(), total() == 1 ? "" : "s");
  const char* separator = ": ";
  for (const CountField& field : kCountFields) {
    if (this->*field.count == 0) continue;
    text += fmt::format("{}{} {}", separator, this->*field.count, field.words);
    if (field.count == &NodeClasses::under && cordoned_under > 0) text += fmt::format(" ({} cordoned)", cordoned_under);
    separator = ", ";
  }
  return text;
}

Json encode_node_classes(const NodeClasses& classes, std::size_t rows) {
  Json json = {{"strategy", classes.strategy}};
  for (const CountField& field : kCountFields) json[field.name] = classes.*field.count;
  json["cordonedUnderutilized"] = classes.cordoned_under;
  put_text(json, "note", classes.note);
  json["nodes"] = Json::array();
  for (std::size_t i = 0; i < std::min(rows, classes.nodes.size()); ++i) {
    const ClassifiedNode& node = classes.nodes[i];
    Json& row = json["nodes"].emplace_back(Json{{"node", node.node}, {"class", to_string(node.node_class)}});
    if (node.cordoned) row["cordoned"] = true;
    put_text(row, "reason", node.reason);
  }
  return json;
}

std::vector<NodeClasses> node_classes_of(const Json& status) {
  std::vector<NodeClasses> all;
  const Json* list = lenient::array(status, "nodeClasses");
  if (list == nullptr) return all;
  for (const Json& item : *list) {
    if (!item.is_object() || all.size() == kMaxPublishedNodeClasses) continue;
    NodeClasses& classes = all.emplace_back();
    classes.strategy = lenient::text(item, "strategy");
    for (const CountField& field : kCountFields) classes.*field.count = lenient::small_integer(item, field.name);
    classes.cordoned_under = lenient::small_integer(item, "cordonedUnderutilized");
    classes.note = lenient::text(item, "note");
    const Json* nodes = lenient::array(item, "nodes");
    if (nodes == nullptr) continue;
    for (const Json& node : *nodes) {
      if (node.is_object() && classes.nodes.size() < kMaxPublishedClassifiedNodes)
        classes.nodes.push_back(classified_node_of(node));
    }
  }
  return all;
}

void put_node_classes(Json& status, const std::vector<NodeClasses>& all) {
  for (std::size_t i = 0; i < std::min(all.size(), kMaxPublishedNodeClasses); ++i)
    status["nodeClasses"].push_back(encode_node_classes(all[i], kMaxPublishedClassifiedNodes));
}

}  // namespace api
