#include "planner/snapshot/matching.hpp"

namespace scheduling {
namespace {

using api::SelectorOperator;

bool is_well_formed(const api::NodeSelectorTerm& term) {
  const auto is_well_formed_field = [](const api::SelectorRequirement& field) {
    return field.values.size() == 1 && (field.op == SelectorOperator::kIn || field.op == SelectorOperator::kNotIn);
  };
  return std::ranges::all_of(term.match_expressions, &api::SelectorRequirement::is_well_formed) &&
         std::ranges::all_of(term.match_fields, is_well_formed_field);
}

bool matches_field(const api::SelectorRequirement& field, const api::Node& node) {
  if (field.key != "metadata.name" || field.values.size() != 1) return false;
  const bool equal = field.values.front() == node.meta.name;
  if (field.op == SelectorOperator::kIn) return equal;
  return field.op == SelectorOperator::kNotIn && !equal;
}

bool matches_selector(const api::StringMap& selector, const api::StringMap& labels) {
  return std::ranges::all_of(selector, [&](const api::StringMap::Entry& wanted) {
    const std::string* value = labels.find(wanted.first);
    return value != nullptr && *value == wanted.second;
  });
}

}  // namespace

bool asks_for_host_ports(const api::Pod& pod) {
  bool has_some = false;
  for_each_host_port(pod, [&](const api::HostPort&) { has_some = true; });
  return has_some;
}

bool accepts_pods(const api::Node& node) {
  return std::ranges::none_of(node.conditions, [](const api::Condition& condition) {
    return condition.type == "Ready" && condition.status != api::ConditionStatus::kTrue;
  });
}

bool is_in_scope(const std::optional<api::LabelSelector>& selector, const api::Node& node) {
  return (!selector || selector->matches(node.meta.labels)) && accepts_pods(node);
}

bool matches(const api::NodeSelectorTerm& term, const api::Node& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  const auto expression_holds = [&](const api::SelectorRequirement& expression) {
    return expression.matches(node.meta.labels);
  };
  return std::ranges::all_of(term.match_expressions, expression_holds) &&
         std::ranges::all_of(term.match_fields, [&](const auto& field) { return matches_field(field, node); });
}

bool matches_node_terms(const api::Pod& pod, const api::Node& node) {
  if (!matches_selector(pod.node_selector, node.meta.labels)) return false;
  if (!pod.affinity || !pod.affinity->required_node_terms) return true;
  return std::ranges::any_of(*pod.affinity->required_node_terms,
                             [&](const api::NodeSelectorTerm& term) { return matches(term, node); });
}

NodeTermsMatch match_node_terms(const api::Pod& pod, const api::Node& node) {
  if (matches_node_terms(pod, node)) return NodeTermsMatch::kYes;
  if (!matches_selector(pod.node_selector, node.meta.labels)) return NodeTermsMatch::kNo;
  const bool all_parse = std::ranges::all_of(*pod.affinity->required_node_terms, is_well_formed);
  return all_parse ? NodeTermsMatch::kNo : NodeTermsMatch::kMalformed;
}

const api::Taint* first_untolerated(const std::vector<api::Toleration>& tolerations,
                                    const std::vector<api::Taint>& taints,
                                    std::initializer_list<api::TaintEffect> effects) {
  for (const api::Taint& taint : taints) {
    if (std::ranges::find(effects, taint.effect) == effects.end()) continue;
    const auto tolerates = [&](const api::Toleration& toleration) { return toleration.tolerates(taint); };
    if (std::ranges::none_of(tolerations, tolerates)) return &taint;
  }
  return nullptr;
}

bool asks_for_pods(const api::TopologySpreadConstraint& constraint, const api::Pod& pod) {
  if (!constraint.label_selector) return false;
  return !constraint.label_selector->requirements.empty() ||
         std::ranges::any_of(constraint.match_label_keys,
                             [&](const std::string& key) { return pod.meta.labels.find(key) != nullptr; });
}

}  // namespace scheduling
