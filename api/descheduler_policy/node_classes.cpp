#include "api/descheduler_policy/node_classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/json/fields.hpp"

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

}  // namespace

constexpr const auto& wire_names(NodeClass) { return kNodeClassNames; }

template <>
inline constexpr auto kFields<ClassifiedNode> =
    std::tuple{always("node", &ClassifiedNode::node), always("class", &ClassifiedNode::node_class),
               field("cordoned", &ClassifiedNode::cordoned), field("reason", &ClassifiedNode::reason)};

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
  json["nodes"] = encode(classes.nodes, rows);
  return json;
}

std::vector<NodeClasses> node_classes_of(const Json& status) {
  std::vector<NodeClasses> all;
  for (const Json& item : items_at(status, {"nodeClasses"})) {
    if (!item.is_object() || all.size() == kMaxPublishedNodeClasses) continue;
    NodeClasses& classes = all.emplace_back();
    lenient::read(item, "strategy", classes.strategy);
    for (const CountField& field : kCountFields) lenient::read(item, field.name, classes.*field.count);
    lenient::read(item, "cordonedUnderutilized", classes.cordoned_under);
    lenient::read(item, "note", classes.note);
    for (const Json& node : items_at(item, {"nodes"})) {
      if (!node.is_object() || classes.nodes.size() == kMaxPublishedClassifiedNodes) continue;
      classes.nodes.emplace_back().node_class = NodeClass::kUnknown;
      lenient::read(node, classes.nodes.back());
    }
  }
  return all;
}

void put_node_classes(Json& status, const std::vector<NodeClasses>& all) {
  for (std::size_t i = 0; i < std::min(all.size(), kMaxPublishedNodeClasses); ++i)
    status["nodeClasses"].push_back(encode_node_classes(all[i], kMaxPublishedClassifiedNodes));
}

}  // namespace api
