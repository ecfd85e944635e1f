#include "api/core/placement_hint.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "api/core/codec_parts.hpp"
#include "api/evacuation.hpp"
#include "api/meta/well_known.hpp"

namespace api {
namespace {

struct AppliedHint {
  std::string_view policy;
  std::string_view node;
};

/// Parses "<name>/<uid>/<policy>/<node>".
std::optional<AppliedHint> applied_hint(std::string_view mark) {
  const auto node = mark.rfind('/');
  if (node == std::string_view::npos || node == 0) return std::nullopt;
  const auto policy = mark.rfind('/', node - 1);
  if (policy == std::string_view::npos) return std::nullopt;
  return AppliedHint{mark.substr(policy + 1, node - policy - 1), mark.substr(node + 1)};
}

bool names(const SelectorRequirement& requirement, std::string_view node) {
  return requirement.key == "metadata.name" && requirement.op == SelectorOperator::kIn &&
         requirement.values.size() == 1 && requirement.values.front() == node;
}

/// Removes the last matching term: the hint was appended, and the template may contain an equal term.
void remove_preferred(Affinity& affinity, std::string_view node) {
  auto& terms = affinity.preferred_node_terms;
  const auto hint = std::find_if(terms.rbegin(), terms.rend(), [&](const PreferredNodeTerm& each) {
    return each.weight == kPlacementHintWeight && each.term.match_expressions.empty() &&
           each.term.match_fields.size() == 1 && names(each.term.match_fields.front(), node);
  });
  if (hint != terms.rend()) terms.erase(std::next(hint).base());
}

void remove_required(Affinity& affinity, std::string_view node) {
  auto& terms = affinity.required_node_terms;
  if (!terms) return;
  bool had_one = false;
  for (NodeSelectorTerm& term : *terms) {
    auto& fields = term.match_fields;
    if (fields.empty() || !names(fields.back(), node)) continue;
    fields.pop_back();
    had_one = true;
  }
  // The hint adds a term of its own only if the pod had none.
  if (had_one && terms->size() == 1 && terms->front() == NodeSelectorTerm{}) terms.reset();
}

}  // namespace

void remove_placement_hint(Pod& pod) {
  const std::string* mark = pod.meta.annotations.find(well_known::kPlacementAnnotation);
  if (mark == nullptr || pod.affinity == nullptr || pod.node_name.empty()) return;
  const auto hint = applied_hint(*mark);
  if (!hint) return;
  Affinity affinity = *pod.affinity;
  if (hint->policy == to_string(PlacementPolicy::kRequired)) remove_required(affinity, hint->node);
  if (hint->policy == to_string(PlacementPolicy::kPreferred)) remove_preferred(affinity, hint->node);
  if (affinity == *pod.affinity) return;
  affinity.has_node_affinity = affinity.required_node_terms || !affinity.preferred_node_terms.empty();
  pod.affinity = wire::share(std::move(affinity));
}

}  // namespace api
