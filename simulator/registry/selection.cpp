#include "simulator/registry/selection.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/json/json_access.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/text.hpp"

namespace simulator {
namespace {

using api::Json;
using api::SelectorOperator;
using api::SelectorRequirement;

/// Splits at commas outside of parentheses.
std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i == text.size() || (text[i] == ',' && depth <= 0)) {
      terms.push_back(trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  return terms;
}

base::Error bad_term(std::string_view term) {
  return base::invalid(
      fmt::format("unable to parse requirement: found '{}', expected: in, notin, =, ==, !=, gt, lt", term));
}

/// Parses `key in (a,b)` and `key notin (a,b)`.
base::Result<SelectorRequirement> parse_set_term(std::string_view term, std::size_t space) {
  SelectorRequirement requirement{std::string(trim(term.substr(0, space))), SelectorOperator::kIn, {}};
  std::string_view rest = trim(term.substr(space));
  if (rest.starts_with("notin")) {
    requirement.op = SelectorOperator::kNotIn;
    rest.remove_prefix(5);
  } else if (rest.starts_with("in")) {
    rest.remove_prefix(2);
  } else {
    return bad_term(term);
  }
  rest = trim(rest);
  if (rest.size() < 2 || rest.front() != '(' || rest.back() != ')') return bad_term(term);
  for (const std::string_view value : split_terms(rest.substr(1, rest.size() - 2)))
    requirement.values.emplace_back(value);
  return requirement;
}

base::Result<SelectorRequirement> parse_term(std::string_view term) {
  if (term.starts_with('!') && !term.starts_with("!=")) {
    return SelectorRequirement{std::string(trim(term.substr(1))), SelectorOperator::kDoesNotExist, {}};
  }
  const auto equals = term.find_first_of("=!<>");
  const auto space = term.find(' ');
  if (space != std::string_view::npos && (equals == std::string_view::npos || space < equals) &&
      trim(term.substr(space)).find('(') != std::string_view::npos) {
    return parse_set_term(term, space);
  }
  if (equals == std::string_view::npos) {
    if (term.find_first_of(" ()") != std::string_view::npos) return bad_term(term);
    return SelectorRequirement{std::string(term), SelectorOperator::kExists, {}};
  }
  SelectorRequirement requirement{std::string(trim(term.substr(0, equals))), SelectorOperator::kIn, {}};
  std::string_view rest = term.substr(equals);
  const std::pair<std::string_view, SelectorOperator> operators[] = {{"==", SelectorOperator::kIn},
                                                                     {"!=", SelectorOperator::kNotIn},
                                                                     {"=", SelectorOperator::kIn},
                                                                     {">", SelectorOperator::kGt},
                                                                     {"<", SelectorOperator::kLt}};
  for (const auto& [sign, op] : operators) {
    if (!rest.starts_with(sign)) continue;
    requirement.op = op;
    requirement.values.emplace_back(trim(rest.substr(sign.size())));
    return requirement;
  }
  return bad_term(term);
}

const std::string* label_value(const Json* labels, const std::string& key) {
  if (!labels || !labels->is_object()) return nullptr;
  const auto found = labels->find(key);
  return found != labels->end() && found->is_string() ? found->get_ptr<const std::string*>() : nullptr;
}

bool holds(const SelectorRequirement& requirement, const Json* labels) {
  const std::string* value = label_value(labels, requirement.key);
  const bool listed = value && std::ranges::find(requirement.values, *value) != requirement.values.end();
  switch (requirement.op) {
    case SelectorOperator::kIn: return listed;
    case SelectorOperator::kNotIn: return !listed;
    case SelectorOperator::kExists: return value != nullptr;
    case SelectorOperator::kDoesNotExist: return value == nullptr;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt: return value && requirement.matches(api::StringMap{{requirement.key, *value}});
  }
  std::abort();
}

struct SelectableField {
  std::string_view plural;
  std::string_view field;
  std::string_view stored_as;  ///< dotted path in the stored object, same as `field` if empty
};

/// Selectable fields of built-in kinds, in addition to metadata.name and metadata.namespace.
constexpr SelectableField kSelectableFields[] = {
    {"pods", "spec.nodeName", ""},
    {"pods", "spec.restartPolicy", ""},
    {"pods", "spec.schedulerName", ""},
    {"pods", "spec.serviceAccountName", ""},
    {"pods", "status.phase", ""},
    {"pods", "status.podIP", ""},
    {"pods", "status.nominatedNodeName", ""},
    {"nodes", "spec.unschedulable", ""},
    {"namespaces", "status.phase", ""},
    {"secrets", "type", ""},
    {"jobs", "status.successful", "status.succeeded"},
    {"replicasets", "status.replicas", ""},
    {"events", "involvedObject.kind", "regarding.kind"},
    {"events", "involvedObject.namespace", "regarding.namespace"},
    {"events", "involvedObject.name", "regarding.name"},
    {"events", "involvedObject.uid", "regarding.uid"},
    {"events", "involvedObject.apiVersion", "regarding.apiVersion"},
    {"events", "involvedObject.resourceVersion", "regarding.resourceVersion"},
    {"events", "involvedObject.fieldPath", "regarding.fieldPath"},
    {"events", "regarding.kind", ""},
    {"events", "regarding.namespace", ""},
    {"events", "regarding.name", ""},
    {"events", "regarding.uid", ""},
    {"events", "regarding.apiVersion", ""},
    {"events", "regarding.resourceVersion", ""},
    {"events", "regarding.fieldPath", ""},
    {"events", "reason", ""},
    {"events", "type", ""},
    {"events", "reportingComponent", "reportingController"},
    {"events", "reportingController", ""},
    {"events", "source", "deprecatedSource.component"},
};

std::vector<std::string> split_dots(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const auto dot = std::min(text.find('.', start), text.size());
    parts.emplace_back(text.substr(start, dot - start));
    start = dot + 1;
  }
  return parts;
}

/// Returns the path in the stored object that `field` selects by, empty if the field is not selectable.
std::vector<std::string> stored_path(const ServedResource& resource, std::string_view field) {
  if (field == "metadata.name" || field == "metadata.namespace") return split_dots(field);
  if (resource.custom) {
    for (const Json& allowed : resource.custom->selectable) {
      if (api::text_at(allowed, {"jsonPath"}) == "." + std::string(field)) return split_dots(field);
    }
    return {};
  }
  for (const SelectableField& known : kSelectableFields) {
    if (known.plural == resource.plural && known.field == field)
      return split_dots(known.stored_as.empty() ? field : known.stored_as);
  }
  return {};
}

/// Returns the field's text as compared by Kubernetes: an absent field is an empty string (a number 0, a boolean
/// false).
std::string field_text(const Json& object, const std::vector<std::string>& path) {
  const Json* at = &object;
  for (const std::string& name : path) {
    if (!at->is_object() || !at->contains(name)) return path.back() == "unschedulable" ? "false" : std::string();
    at = &(*at)[name];
  }
  if (at->is_string()) return at->get<std::string>();
  return at->is_primitive() && !at->is_null() ? at->dump() : std::string();
}

}  // namespace

base::Result<std::vector<SelectorRequirement>> parse_label_selector(std::string_view text) {
  std::vector<SelectorRequirement> requirements;
  if (trim(text).empty()) return requirements;
  for (const std::string_view term : split_terms(text)) {
    if (term.empty()) return bad_term(term);
    auto requirement = parse_term(term);
    if (!requirement) return std::move(requirement).error();
    if (requirement->key.empty()) return bad_term(term);
    requirements.push_back(*std::move(requirement));
  }
  return requirements;
}

bool label_selector_matches(const Json& selector, const Json* labels) {
  const auto parsed = label_selector(&selector);
  const auto count = [&](const char* member) {
    const Json* part = api::find_at(selector, {member});
    return part && part->is_structured() ? part->size() : 0;
  };
  // A requirement that cannot be read matches nothing.
  if (!parsed || parsed->requirements.size() != count("matchLabels") + count("matchExpressions")) return false;
  return std::ranges::all_of(parsed->requirements,
                             [&](const SelectorRequirement& each) { return holds(each, labels); });
}

Outcome<Selection> Selection::parse(const ServedResource& resource, std::string_view labels, std::string_view fields) {
  Selection selection;
  auto requirements = parse_label_selector(labels);
  if (!requirements) return bad_request(requirements.error().message);
  selection.labels_ = *std::move(requirements);
  if (fields.empty()) return selection;
  for (const std::string_view term : split_terms(fields)) {
    if (CheckResult added = selection.add_field(resource, term); !added) return std::move(added.failure());
  }
  return selection;
}

CheckResult Selection::add_field(const ServedResource& resource, std::string_view term) {
  if (term.empty()) return base::Done{};
  const auto sign = term.find('=');
  if (sign == std::string_view::npos)
    return bad_request(fmt::format("invalid selector: '{}'; can't understand '{}'", term, term));
  const bool differs = sign > 0 && term[sign - 1] == '!';
  const std::string_view name = term.substr(0, differs ? sign - 1 : sign);
  std::string_view value = term.substr(sign + 1);
  if (!differs && value.starts_with('=')) value.remove_prefix(1);
  Field field{stored_path(resource, name), std::string(value), !differs};
  if (field.path.empty()) {
    if (!resource.custom) return bad_request(fmt::format("field label not supported: {}", name));
    return bad_request(
        fmt::format("\"{}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", name));
  }
  fields_.push_back(std::move(field));
  return base::Done{};
}

bool Selection::matches(const Json& stored) const {
  const Json* labels = labels_.empty() ? nullptr : api::find_at(stored, {"metadata", "labels"});
  return std::ranges::all_of(labels_, [&](const SelectorRequirement& r) { return holds(r, labels); }) &&
         std::ranges::all_of(fields_,
                             [&](const Field& f) { return (field_text(stored, f.path) == f.value) == f.equal; });
}

}  // namespace simulator
