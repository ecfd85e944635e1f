/// Readers of selectors, affinity, tolerations and spread constraints.

#include <algorithm>
#include <array>
#include <mutex>

#include "api/core/codec_parts.hpp"
#include "api/core/terms/term_hash.hpp"
#include "api/meta/names.hpp"

namespace api::wire {
namespace {

std::optional<SelectorOperator> selector_operator(std::string_view text) {
  if (text == "In") return SelectorOperator::kIn;
  if (text == "NotIn") return SelectorOperator::kNotIn;
  if (text == "Exists") return SelectorOperator::kExists;
  if (text == "DoesNotExist") return SelectorOperator::kDoesNotExist;
  if (text == "Gt") return SelectorOperator::kGt;
  if (text == "Lt") return SelectorOperator::kLt;
  return std::nullopt;
}

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

template <typename V>
error_code read_requirement(V& value, bool names_fields, std::vector<SelectorRequirement>& target) {
  SelectorRequirement requirement;
  std::string op;
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "key") return read(member, requirement.key);
    if (key == "operator") return read(member, op);
    if (key == "values") return read(member, requirement.values);
    return simdjson::SUCCESS;
  });
  if (const auto known = selector_operator(op)) {
    requirement.op = *known;
    if (!names_fields) check_names(requirement);
  } else {
    make_unmatchable(requirement);
  }
  target.push_back(std::move(requirement));
  return error;
}

template <typename V>
error_code read_requirements(V& value, std::vector<SelectorRequirement>& target, bool names_fields = false) {
  return for_elements(value, [&](auto& item) { return read_requirement(item, names_fields, target); });
}

template <typename V>
error_code read_match_label_entries(V& value, std::vector<SelectorRequirement>& target) {
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

template <typename V>
error_code read_selector(V& value, std::optional<LabelSelector>& target) {
  bool is_one = false;
  if (const error_code error = is_object(value, is_one)) return unless_about_value(error);
  if (!is_one) return simdjson::SUCCESS;
  LabelSelector selector;
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "matchLabels") return read_match_label_entries(member, selector.requirements);
    if (key == "matchExpressions") return read_requirements(member, selector.requirements);
    return simdjson::SUCCESS;
  });
  target = std::move(selector);
  return error;
}

template <typename V>
error_code read_node_term(V& value, NodeSelectorTerm& term) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "matchExpressions") return read_requirements(member, term.match_expressions);
    if (key == "matchFields") return read_requirements(member, term.match_fields, true);
    return simdjson::SUCCESS;
  });
}

template <typename V>
error_code read_node_selector(V& value, std::vector<NodeSelectorTerm>& target) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key != "nodeSelectorTerms") return simdjson::SUCCESS;
    return for_elements(member, [&](auto& item) { return read_node_term(item, target.emplace_back()); });
  });
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

template <typename V>
error_code read_node_affinity(V& value, Affinity& affinity) {
  if (const error_code error = is_object(value, affinity.has_node_affinity)) return unless_about_value(error);
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution") {
      bool is_one = false;
      if (const error_code error = is_object(member, is_one)) return unless_about_value(error);
      if (!is_one) return simdjson::SUCCESS;
      return read_node_selector(member, affinity.required_node_terms.emplace());
    }
    if (key != "preferredDuringSchedulingIgnoredDuringExecution") return simdjson::SUCCESS;
    return for_elements(member, [&](auto& item) {
      PreferredNodeTerm& preferred = affinity.preferred_node_terms.emplace_back();
      return for_members(item, [&](std::string_view name, auto& part) {
        if (name == "weight") return read(part, preferred.weight);
        if (name == "preference") return read_node_term(part, preferred.term);
        return simdjson::SUCCESS;
      });
    });
  });
}

template <typename V>
error_code read_pod_affinity_term(V& value, PodAffinityTerm& term) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "labelSelector") return read_selector(member, term.label_selector);
    if (key == "namespaces") return read(member, term.namespaces);
    if (key == "namespaceSelector") return read_selector(member, term.namespace_selector);
    if (key == "topologyKey") return read(member, term.topology_key);
    if (key == "matchLabelKeys") return read(member, term.match_label_keys);
    if (key == "mismatchLabelKeys") return read(member, term.mismatch_label_keys);
    return simdjson::SUCCESS;
  });
}

using WeightedPodTerms = std::vector<std::pair<int, PodAffinityTerm>>;

template <typename V>
error_code read_pod_affinity(V& value, std::vector<PodAffinityTerm>& required, WeightedPodTerms& preferred) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution") {
      return for_elements(member, [&](auto& item) { return read_pod_affinity_term(item, required.emplace_back()); });
    }
    if (key != "preferredDuringSchedulingIgnoredDuringExecution") return simdjson::SUCCESS;
    return for_elements(member, [&](auto& item) {
      auto& [weight, term] = preferred.emplace_back(1, PodAffinityTerm{});
      return for_members(item, [&weight = weight, &term = term](std::string_view name, auto& part) {
        if (name == "weight") return read(part, weight);
        if (name == "podAffinityTerm") return read_pod_affinity_term(part, term);
        return simdjson::SUCCESS;
      });
    });
  });
}

}  // namespace

template <typename V>
error_code read_affinity(V& value, std::shared_ptr<const Affinity>& target) {
  Affinity affinity;
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "nodeAffinity") return read_node_affinity(member, affinity);
    if (key == "podAffinity") {
      return read_pod_affinity(member, affinity.required_pod_affinity, affinity.preferred_pod_affinity);
    }
    if (key == "podAntiAffinity") {
      return read_pod_affinity(member, affinity.required_pod_anti_affinity, affinity.preferred_pod_anti_affinity);
    }
    return simdjson::SUCCESS;
  });
  if (affinity != Affinity{}) target = share(std::move(affinity));
  return error;
}

namespace {

std::optional<TaintEffect> taint_effect(std::string_view text) {
  if (text == "NoSchedule") return TaintEffect::kNoSchedule;
  if (text == "PreferNoSchedule") return TaintEffect::kPreferNoSchedule;
  if (text == "NoExecute") return TaintEffect::kNoExecute;
  return std::nullopt;
}

}  // namespace

template <typename V>
error_code read_toleration(V& value, std::vector<Toleration>& target) {
  Toleration toleration;
  std::string op;
  std::string effect;
  std::optional<std::int64_t> seconds;
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "key") return read(member, toleration.key);
    if (key == "operator") return read(member, op);
    if (key == "value") return read(member, toleration.value);
    if (key == "effect") return read(member, effect);
    if (key == "tolerationSeconds") return read(member, seconds);
    return simdjson::SUCCESS;
  });
  toleration.exists = op == "Exists";
  if (op == "Lt") toleration.comparison = TolerationComparison::kLessThan;
  if (op == "Gt") toleration.comparison = TolerationComparison::kGreaterThan;
  toleration.effect = taint_effect(effect);
  if (seconds) toleration.toleration_seconds = base::seconds(*seconds);
  const bool known = (op.empty() || op == "Equal" || op == "Exists" || op == "Lt" || op == "Gt") &&
                     (effect.empty() || toleration.effect);
  if (!known) toleration.comparison = TolerationComparison::kNever;
  target.push_back(std::move(toleration));
  return error;
}

template <typename V>
error_code read_taint(V& value, std::vector<Taint>& target) {
  Taint taint;
  std::string effect;
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "key") return read(member, taint.key);
    if (key == "value") return read(member, taint.value);
    if (key == "effect") return read(member, effect);
    return simdjson::SUCCESS;
  });
  taint.effect = taint_effect(effect).value_or(TaintEffect::kOther);
  target.push_back(std::move(taint));
  return error;
}

template <typename V>
error_code read_spread(V& value, std::vector<TopologySpreadConstraint>& target) {
  TopologySpreadConstraint& spread = target.emplace_back();
  std::string unsatisfiable;
  std::string affinity_policy;
  std::string taints_policy;
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "maxSkew") return read(member, spread.max_skew);
    if (key == "topologyKey") return read(member, spread.topology_key);
    if (key == "whenUnsatisfiable") return read(member, unsatisfiable);
    if (key == "labelSelector") return read_selector(member, spread.label_selector);
    if (key == "minDomains") return read(member, spread.min_domains);
    if (key == "nodeAffinityPolicy") return read(member, affinity_policy);
    if (key == "nodeTaintsPolicy") return read(member, taints_policy);
    if (key == "matchLabelKeys") return read(member, spread.match_label_keys);
    return simdjson::SUCCESS;
  });
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
