/// Readers of selectors, affinity, tolerations and spread constraints.

#include <algorithm>
#include <array>
#include <mutex>

#include "api/core/codec_parts.hpp"
#include "api/core/terms/term_hash.hpp"
#include "api/meta/names.hpp"
#include "api/wire_names.hpp"

namespace api::wire {
namespace {

/// Makes an invalid requirement match nothing (In without values), so that it cannot widen the selector. The API server
/// accepts no such requirement.
void make_unmatchable(SelectorRequirement& requirement) {
  requirement.op = SelectorOperator::kIn;
  requirement.values.clear();
}

void check_names(SelectorRequirement& requirement) {
  if (!is_qualified_name(requirement.key) || !std::ranges::all_of(requirement.values, is_label_value)) {
    make_unmatchable(requirement);
  }
}

error_code read_requirement(auto& value, bool names_fields, std::vector<SelectorRequirement>& target) {
  SelectorRequirement requirement;
  std::string op;
  const error_code error =
      read_members(value, on("key", requirement.key), on("operator", op), on("values", requirement.values));
  if (const auto known = value_of(kNodeOperatorNames, op)) {
    requirement.op = *known;
    if (!names_fields) check_names(requirement);
  } else {
    make_unmatchable(requirement);
  }
  target.push_back(std::move(requirement));
  return error;
}

/// Returns a reader of a list of requirements.
auto requirements(std::vector<SelectorRequirement>& target, bool names_fields = false) {
  return elements([&target, names_fields](auto& item) { return read_requirement(item, names_fields, target); });
}

error_code read_match_label_entries(auto& value, std::vector<SelectorRequirement>& target) {
  return for_entries(value, [&](std::string_view key, auto& entry) {
    std::string_view text;
    const error_code error = text_of(entry, text);
    if (!error)
      check_names(
          target.emplace_back(SelectorRequirement{std::string(key), SelectorOperator::kIn, {std::string(text)}}));
    return unless_about_value(error);
  });
}

}  // namespace

error_code read_selector(auto& value, std::optional<LabelSelector>& target) {
  bool is_one = false;
  if (const error_code error = is_object(value, is_one)) return unless_about_value(error);
  if (!is_one) return simdjson::SUCCESS;
  LabelSelector selector;
  const error_code error = read_members(
      value, on("matchLabels", [&](auto& map) { return read_match_label_entries(map, selector.requirements); }),
      on("matchExpressions", requirements(selector.requirements)));
  target = std::move(selector);
  return error;
}

error_code read_node_term(auto& value, NodeSelectorTerm& term) {
  return read_members(value, on("matchExpressions", requirements(term.match_expressions)),
                      on("matchFields", requirements(term.match_fields, true)));
}

error_code read_node_selector(auto& value, std::vector<NodeSelectorTerm>& target) {
  const auto add_term = [&](auto& item) { return read_node_term(item, target.emplace_back()); };
  return read_members(value, on("nodeSelectorTerms", elements(add_term)));
}

namespace {

/// Affinities in use by some pod, in slots by hash. Thread-safe.
class AffinityPool {
 public:
  std::shared_ptr<const Affinity> pooled(Affinity affinity) {
    const std::size_t slot = hash_of(affinity) % kSlots;
    const std::scoped_lock lock(mutexes_[slot % kParts]);
    if (auto known = slots_[slot].lock(); known && *known == affinity) return known;
    const auto made = std::make_shared<const Affinity>(std::move(affinity));
    slots_[slot] = made;
    return made;
  }

 private:
  static constexpr std::size_t kSlots = std::size_t{1} << 16;
  static constexpr std::size_t kParts = 16;
  std::array<std::mutex, kParts> mutexes_;
  std::vector<std::weak_ptr<const Affinity>> slots_{kSlots};
};

}  // namespace

std::shared_ptr<const Affinity> share(Affinity affinity) {
  static auto* const kPool = new AffinityPool;  // never destroyed: decoding threads may outlive static destruction
  if (affinity == Affinity{}) return nullptr;
  return kPool->pooled(std::move(affinity));
}

namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

error_code read_node_affinity(auto& value, Affinity& affinity) {
  if (const error_code error = is_object(value, affinity.has_node_affinity)) return unless_about_value(error);
  const auto read_required = [&](auto& selector) {
    bool is_one = false;
    if (const error_code error = is_object(selector, is_one)) return unless_about_value(error);
    if (!is_one) return simdjson::SUCCESS;
    return read_node_selector(selector, affinity.required_node_terms.emplace());
  };
  const auto add_preferred = [&](auto& item) {
    PreferredNodeTerm& preferred = affinity.preferred_node_terms.emplace_back();
    return read_members(item, on("weight", preferred.weight),
                        on("preference", [&](auto& term) { return read_node_term(term, preferred.term); }));
  };
  return read_members(value, on(kRequired, read_required), on(kPreferred, elements(add_preferred)));
}

error_code read_pod_affinity_term(auto& value, PodAffinityTerm& term) {
  return read_members(
      value, on("labelSelector", [&](auto& selector) { return read_selector(selector, term.label_selector); }),
      on("namespaces", term.namespaces),
      on("namespaceSelector", [&](auto& selector) { return read_selector(selector, term.namespace_selector); }),
      on("topologyKey", term.topology_key), on("matchLabelKeys", term.match_label_keys),
      on("mismatchLabelKeys", term.mismatch_label_keys));
}

using WeightedPodTerms = std::vector<std::pair<int, PodAffinityTerm>>;

/// Returns a reader of podAffinity or podAntiAffinity.
auto pod_affinity(std::vector<PodAffinityTerm>& required, WeightedPodTerms& preferred) {
  const auto add_required = [&](auto& item) { return read_pod_affinity_term(item, required.emplace_back()); };
  const auto add_preferred = [&](auto& item) {
    auto& [weight, term] = preferred.emplace_back(1, PodAffinityTerm{});
    return read_members(item, on("weight", weight), on("podAffinityTerm", [&term = term](auto& part) {
                          return read_pod_affinity_term(part, term);
                        }));
  };
  return members(on(kRequired, elements(add_required)), on(kPreferred, elements(add_preferred)));
}

}  // namespace

error_code read_affinity(auto& value, std::shared_ptr<const Affinity>& target) {
  Affinity affinity;
  const error_code error = read_members(
      value, on("nodeAffinity", [&](auto& part) { return read_node_affinity(part, affinity); }),
      on("podAffinity", pod_affinity(affinity.required_pod_affinity, affinity.preferred_pod_affinity)),
      on("podAntiAffinity", pod_affinity(affinity.required_pod_anti_affinity, affinity.preferred_pod_anti_affinity)));
  if (affinity != Affinity{}) target = share(std::move(affinity));
  return error;
}

namespace {

constexpr std::array kTaintEffects = {WireName{TaintEffect::kNoSchedule, "NoSchedule"},
                                      WireName{TaintEffect::kPreferNoSchedule, "PreferNoSchedule"},
                                      WireName{TaintEffect::kNoExecute, "NoExecute"}};

}  // namespace

error_code read_toleration(auto& value, std::vector<Toleration>& target) {
  Toleration toleration;
  std::string op;
  std::string effect;
  std::optional<std::int64_t> seconds;
  const error_code error =
      read_members(value, on("key", toleration.key), on("operator", op), on("value", toleration.value),
                   on("effect", effect), on("tolerationSeconds", seconds));
  toleration.exists = op == "Exists";
  if (op == "Lt") toleration.comparison = TolerationComparison::kLessThan;
  if (op == "Gt") toleration.comparison = TolerationComparison::kGreaterThan;
  toleration.effect = value_of(kTaintEffects, effect);
  if (seconds) toleration.toleration_seconds = base::seconds(*seconds);
  const bool known = (op.empty() || op == "Equal" || op == "Exists" || op == "Lt" || op == "Gt") &&
                     (effect.empty() || toleration.effect);
  if (!known) toleration.comparison = TolerationComparison::kNever;
  target.push_back(std::move(toleration));
  return error;
}

error_code read_taint(auto& value, std::vector<Taint>& target) {
  Taint taint;
  std::string effect;
  const error_code error = read_members(value, on("key", taint.key), on("value", taint.value), on("effect", effect));
  taint.effect = value_of(kTaintEffects, effect).value_or(TaintEffect::kOther);
  target.push_back(std::move(taint));
  return error;
}

error_code read_spread(auto& value, std::vector<TopologySpreadConstraint>& target) {
  TopologySpreadConstraint& spread = target.emplace_back();
  std::string unsatisfiable;
  std::string affinity_policy;
  std::string taints_policy;
  const error_code error =
      read_members(value, on("maxSkew", spread.max_skew), on("topologyKey", spread.topology_key),
                   on("whenUnsatisfiable", unsatisfiable),
                   on("labelSelector", [&](auto& selector) { return read_selector(selector, spread.label_selector); }),
                   on("minDomains", spread.min_domains), on("nodeAffinityPolicy", affinity_policy),
                   on("nodeTaintsPolicy", taints_policy), on("matchLabelKeys", spread.match_label_keys));
  spread.schedule_anyway = unsatisfiable == "ScheduleAnyway";
  spread.honor_node_affinity = affinity_policy != "Ignore";
  spread.honor_node_taints = taints_policy == "Honor";
  return error;
}

template error_code read_selector(Value&, std::optional<LabelSelector>&);
template error_code read_selector(ProtoValue&, std::optional<LabelSelector>&);
template error_code read_node_term(Value&, NodeSelectorTerm&);
template error_code read_node_term(ProtoValue&, NodeSelectorTerm&);
template error_code read_node_selector(Value&, std::vector<NodeSelectorTerm>&);
template error_code read_node_selector(ProtoValue&, std::vector<NodeSelectorTerm>&);
template error_code read_affinity(Value&, std::shared_ptr<const Affinity>&);
template error_code read_affinity(ProtoValue&, std::shared_ptr<const Affinity>&);
template error_code read_toleration(Value&, std::vector<Toleration>&);
template error_code read_toleration(ProtoValue&, std::vector<Toleration>&);
template error_code read_taint(Value&, std::vector<Taint>&);
template error_code read_taint(ProtoValue&, std::vector<Taint>&);
template error_code read_spread(Value&, std::vector<TopologySpreadConstraint>&);
template error_code read_spread(ProtoValue&, std::vector<TopologySpreadConstraint>&);

}  // namespace api::wire
