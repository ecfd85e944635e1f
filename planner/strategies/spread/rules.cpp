#include "planner/strategies/spread/rules.hpp"

#include <algorithm>
#include <functional>

#include "api/core/terms/pod_bounds.hpp"
#include "api/core/terms/term_hash.hpp"
#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/listing.hpp"

namespace strategies {
namespace {

using api::SelectorOperator;

std::size_t mix(std::size_t hash, std::size_t value) { return (hash ^ value) * 0x9e3779b97f4a7c15 + (hash >> 29); }

std::size_t mix(std::size_t hash, std::string_view text) { return mix(hash, std::hash<std::string_view>{}(text)); }

std::size_t mix(std::size_t hash, const std::vector<api::SelectorRequirement>& requirements) {
  for (const api::SelectorRequirement& requirement : requirements) {
    hash = mix(mix(hash, requirement.key), static_cast<std::size_t>(requirement.op));
    for (const std::string& value : requirement.values) hash = mix(hash, value);
  }
  return hash;
}

std::size_t mix(std::size_t hash, const std::vector<std::string_view>& texts) {
  for (const std::string_view text : texts) hash = mix(hash, text);
  return hash;
}

std::size_t mix_wish(std::size_t hash, const api::TopologySpreadConstraint& constraint) {
  return mix(mix(hash, constraint.schedule_anyway ? 1U : 0U),
             static_cast<std::size_t>(constraint.min_domains.value_or(-1)));
}

/// Hashes the fields that the node inclusion policies depend on.
std::size_t placement_hash(const api::TopologySpreadConstraint& constraint, const api::Pod& owner) {
  std::size_t hash = (constraint.honor_node_affinity ? 1U : 0U) + (constraint.honor_node_taints ? 2U : 0U);
  if (constraint.honor_node_affinity) {
    for (const auto& [key, value] : owner.node_selector) hash = mix(mix(hash, key), value);
    if (const auto* terms = required_terms(owner)) {
      for (const api::NodeSelectorTerm& term : *terms) {
        hash = mix(mix(mix(hash, 1U), term.match_expressions), term.match_fields);
      }
    }
  }
  if (constraint.honor_node_taints) hash = mix(hash, api::hash_of(owner.tolerations.get()));
  return hash;
}

bool same_placement(const api::TopologySpreadConstraint& constraint, const api::Pod& owner,
                    const api::TopologySpreadConstraint& other, const api::Pod& other_owner) {
  if (constraint.honor_node_affinity != other.honor_node_affinity) return false;
  if (constraint.honor_node_taints != other.honor_node_taints) return false;
  if (constraint.honor_node_affinity &&
      (owner.node_selector != other_owner.node_selector || !have_same_required_terms(owner, other_owner))) {
    return false;
  }
  return !constraint.honor_node_taints || owner.tolerations == other_owner.tolerations;
}

SpreadKeys sorted_keys(bool schedule_anyway, const api::Pod& owner) {
  SpreadKeys sorted;
  for (const api::TopologySpreadConstraint& each : owner.topology_spread) {
    if (each.schedule_anyway == schedule_anyway) sorted.keys.push_back(each.topology_key);
  }
  std::ranges::sort(sorted.keys);
  sorted.hash = mix(1, sorted.keys);
  return sorted;
}

bool have_same_keys(const SpreadRule& a, const SpreadRule& b) {
  return a.keys == b.keys || (a.keys && b.keys && *a.keys == *b.keys);
}

/// See SpreadRules::add() for `exact`.
bool is_same(const SpreadRule& a, const SpreadRule& b, bool exact) {
  const bool same_wish = !exact || (a.constraint->schedule_anyway == b.constraint->schedule_anyway &&
                                    a.constraint->min_domains == b.constraint->min_domains && have_same_keys(a, b));
  return same_wish && a.constraint->max_skew == b.constraint->max_skew &&
         a.constraint->topology_key == b.constraint->topology_key && a.selector == b.selector &&
         same_placement(*a.constraint, *a.owner, *b.constraint, *b.owner);
}

}  // namespace

std::optional<api::LabelSelector> effective_selector(const api::TopologySpreadConstraint& constraint,
                                                     const api::Pod& owner) {
  if (!constraint.label_selector || !constraint.label_selector->is_well_formed()) return std::nullopt;
  api::LabelSelector selector = *constraint.label_selector;
  for (const std::string& key : constraint.match_label_keys) {
    const std::string* value = owner.meta.labels.find(key);
    if (value != nullptr) selector.requirements.push_back({key, SelectorOperator::kIn, {*value}});
  }
  return selector;
}

void SpreadRules::clear() { *this = {}; }

/// Returns the keys of the pod's constraints. Computed once per pod; equal keys share one object.
const std::shared_ptr<const SpreadKeys>& SpreadRules::keys_of(const api::TopologySpreadConstraint& constraint,
                                                              const api::Pod& owner) {
  if (last_owner_ != &owner) last_keys_ = {};
  last_owner_ = &owner;
  std::shared_ptr<const SpreadKeys>& keys = last_keys_[constraint.schedule_anyway ? 1 : 0];
  if (keys) return keys;
  SpreadKeys sorted = sorted_keys(constraint.schedule_anyway, owner);
  std::shared_ptr<const SpreadKeys>& known = known_keys_[sorted.hash];
  if (!known || *known != sorted) known = std::make_shared<const SpreadKeys>(std::move(sorted));
  return keys = known;
}

bool SpreadRules::add(const api::TopologySpreadConstraint& constraint, const api::Pod& owner, bool exact) {
  auto selector = effective_selector(constraint, owner);
  if (!selector) return true;
  const std::size_t of_selector = mix(0, selector->requirements);
  SpreadRule rule{&constraint, &owner, *std::move(selector), {}};
  std::size_t hash = mix(placement_hash(constraint, owner), constraint.topology_key);
  hash = mix(mix(hash, static_cast<std::size_t>(constraint.max_skew)), of_selector);
  if (exact) {
    rule.keys = keys_of(constraint, owner);
    hash = mix(mix_wish(hash, constraint), rule.keys->hash);
  }
  const auto [first, last] = by_hash_.equal_range(hash);
  const auto is_known = [&](const auto& each) { return is_same(rules_[each.second], rule, exact); };
  if (std::any_of(first, last, is_known)) return true;
  std::size_t& count = of_selector_[of_selector];
  if (count == kMaxRulesOfSelector || rules_.size() == kMaxRulesOfNamespace) return false;
  ++count;
  by_hash_.emplace(hash, static_cast<std::uint32_t>(rules_.size()));
  rules_.push_back(std::move(rule));
  return true;
}

bool SpreadDomainCache::includes(const SpreadRule& rule, NodeIndex node) const {
  const api::Node& object = cluster_->base().node(node);
  if (rule.constraint->honor_node_affinity && !scheduling::matches_node_terms(*rule.owner, object)) return false;
  using enum api::TaintEffect;
  return !rule.constraint->honor_node_taints ||
         scheduling::first_untolerated(rule.owner->tolerations, object.taints, {kNoSchedule, kNoExecute}) == nullptr;
}

void SpreadDomainCache::begin_namespace() {
  if (bytes_ > kMaxBytes) {
    entries_.clear();
    bytes_ = 0;
  }
  bytes_before_ = bytes_;
  steps_ = 0;
}

/// Accounts for comparing every node with the inclusion policies, and for one vector per domain.
void SpreadDomainCache::note_cost(const SpreadRule& rule, const SpreadDomains& domains) {
  const auto& affinity = rule.owner->affinity;
  steps_ += nodes_.size() * (1 + (affinity ? api::node_term_weight(*affinity) : 0));
  bytes_ += 9 * domains.includes.size() + 64 * domains.nodes.size();
}

const SpreadDomains& SpreadDomainCache::domains_of(const SpreadRule& rule) {
  std::size_t hash = mix(placement_hash(*rule.constraint, *rule.owner), rule.constraint->topology_key);
  if (exact_) hash = mix(hash, rule.keys->hash);
  const auto [first, last] = entries_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    const SpreadRule& known = at->second->rule;
    if (known.constraint->topology_key == rule.constraint->topology_key &&
        same_placement(*known.constraint, *known.owner, *rule.constraint, *rule.owner) &&
        (!exact_ || have_same_keys(known, rule))) {
      return at->second->domains;
    }
  }
  auto entry = std::make_unique<Entry>(Entry{{rule.constraint, rule.owner, {}, rule.keys}, {}});
  SpreadDomains& domains = entry->domains;
  domains.topology = &cluster_->topology(rule.constraint->topology_key);
  domains.nodes.resize(domains.topology->domain_names.size());
  domains.includes.resize(cluster_->base().node_count(), false);
  const auto patchy = exact_ ? scheduling::patchy_topologies(*rule.owner, rule.constraint->schedule_anyway, *cluster_)
                             : scheduling::PatchyTopologies();
  for (const NodeIndex node : nodes_) {
    const std::uint32_t domain = domains.topology->domain_of[node];
    if (domain == Topology::kNone || !scheduling::has_all(patchy, node) || !includes(rule, node)) continue;
    domains.nodes[domain].push_back(node);
    domains.includes[node] = true;
  }
  for (std::uint32_t domain = 0; domain < domains.nodes.size(); ++domain) {
    if (!domains.nodes[domain].empty()) domains.open.push_back(domain);
  }
  note_cost(rule, domains);
  return entries_.emplace(hash, std::move(entry))->second->domains;
}

}  // namespace strategies
