#include "api/core/selector_codec.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/meta/names.hpp"
#include "api/wire_names.hpp"
#include "base/text.hpp"

namespace api {
namespace {

constexpr std::size_t kQuotedSelectorText = 80;

void check_label(FieldErrors& errors, const FieldPath& key_at, std::string_view key, const FieldPath& value_at,
                 const std::vector<std::string>& values) {
  if (!is_qualified_name(key)) {
    errors.push_back({key_at.text(), fmt::format("\"{}\" is not a label key", key.substr(0, kQuotedSelectorText))});
  }
  for (const std::string& value : values) {
    if (!is_label_value(value)) {
      errors.push_back(
          {value_at.text(), fmt::format("\"{}\" is not a label value", value.substr(0, kQuotedSelectorText))});
    }
  }
}

void read_match_labels(StrictObject& selector, std::vector<SelectorRequirement>& to) {
  const Json* labels = selector.find("matchLabels");
  if (labels == nullptr) return;
  const FieldPath at = selector.path().field("matchLabels");
  if (!labels->is_object())
    return selector.complain("matchLabels", fmt::format("must be an object, not {}", kind_of(*labels)));
  for (const auto& [key, value] : labels->items()) {
    const FieldPath here = at.key(key);
    if (!value.is_string()) {
      selector.errors().push_back({here.text(), fmt::format("must be a string, not {}", kind_of(value))});
      continue;
    }
    to.push_back({key, SelectorOperator::kIn, {value.get<std::string>()}});
    check_label(selector.errors(), here, key, here, to.back().values);
  }
}

/// Returns nullptr if the values are valid for the operator.
const char* complaint_about_values(const SelectorRequirement& requirement) {
  if (requirement.is_well_formed()) return nullptr;
  switch (requirement.op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn: return "must not be empty for In and NotIn";
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist: return "must be empty for Exists and DoesNotExist";
    case SelectorOperator::kGt:
    case SelectorOperator::kLt: return "must be one whole number for Gt and Lt";
  }
  std::abort();
}

SelectorRequirement read_requirement(const Json& json, const FieldPath& path, bool of_nodes, FieldErrors& errors) {
  SelectorRequirement requirement;
  const std::size_t before = errors.size();
  StrictObject object(json, path, errors);
  object.read("key", requirement.key);
  if (object.find("operator") == nullptr) object.complain("operator", "is required");
  if (of_nodes) {
    object.read("operator", kNodeOperatorNames, requirement.op);
  } else {
    object.read("operator", kLabelOperatorNames, requirement.op);
  }
  object.read("values", requirement.values);
  const bool is_read = errors.size() == before;  // otherwise operator or values are unreadable
  object.finish();
  const char* complaint = is_read ? complaint_about_values(requirement) : nullptr;
  if (complaint != nullptr) object.complain("values", complaint);
  check_label(errors, path.field("key"), requirement.key, path.field("values"), requirement.values);
  return requirement;
}

/// Counts the leading requirements that can be encoded as matchLabels, which are read back first and sorted by key.
std::size_t count_match_labels(const std::vector<SelectorRequirement>& requirements) {
  std::size_t count = 0;
  for (const auto& [key, op, values] : requirements) {
    if (op != SelectorOperator::kIn || values.size() != 1) break;
    if (count > 0 && key <= requirements[count - 1].key) break;
    ++count;
  }
  return count;
}

/// Parses "10%" without sign, space or leading zero. Returns nullopt for anything else.
std::optional<IntOrPercent> percent_of(std::string_view text) {
  if (!text.ends_with('%') || text.starts_with('-') || text.starts_with('0')) return std::nullopt;
  text.remove_suffix(1);
  const auto value = base::parse_number<std::int64_t>(text);
  return value ? std::optional(IntOrPercent{*value, true}) : std::nullopt;
}

}  // namespace

void read_label_selector(StrictObject& object, std::string_view name, std::optional<LabelSelector>& target,
                         bool of_nodes) {
  object.with(name, [&](StrictObject& json) {
    LabelSelector selector;
    read_match_labels(json, selector.requirements);
    json.for_each("matchExpressions", [&](const Json& item, const FieldPath& path) {
      selector.requirements.push_back(read_requirement(item, path, of_nodes, json.errors()));
    });
    target = std::move(selector);
  });
}

Json encode_label_selector(const LabelSelector& selector) {
  Json json = Json::object();
  const std::size_t labels = count_match_labels(selector.requirements);
  for (std::size_t i = 0; i < selector.requirements.size(); ++i) {
    const auto& [key, op, values] = selector.requirements[i];
    if (i < labels) {
      json["matchLabels"][key] = values.front();
      continue;
    }
    Json expression = {{"key", key}, {"operator", to_string(op)}};
    if (!values.empty()) expression["values"] = values;
    json["matchExpressions"].push_back(std::move(expression));
  }
  return json;
}

void read_int_or_percent(StrictObject& object, std::string_view name, std::optional<IntOrPercent>& target) {
  const Json* member = object.find(name);
  if (member == nullptr) return;
  if (member->is_string()) {
    target = percent_of(member->get_ref<const std::string&>());
    if (!target) object.complain(name, "must be a whole number or a percentage such as \"10%\"");
    return;
  }
  if (!member->is_number()) {
    return object.complain(
        name, fmt::format("must be a whole number or a percentage such as \"10%\", not {}", kind_of(*member)));
  }
  std::optional<std::int64_t> value;
  object.read(name, value);
  if (value) target = IntOrPercent{*value, false};
}

Json encode_value(const IntOrPercent& value) {
  if (value.percent) return fmt::format("{}%", value.value);
  return value.value;
}

}  // namespace api
