#pragma once

/// Distinct topology spread constraints of a namespace, and the nodes in the domains of each; shared by the topology
/// spread strategies. All look-ups are by hash or index, so that thousands of constraints over thousands of nodes cost
/// little more than the pods they count.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/core/kinds.hpp"
#include "planner/scheduling/what_if.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Sorted topology keys of a pod's constraints of one kind. kube-scheduler excludes a node that lacks one of them from
/// the counts of all.
struct SpreadKeys {
  std::vector<std::string_view> keys;
  std::size_t hash = 0;
  friend bool operator==(const SpreadKeys& a, const SpreadKeys& b) { return a.hash == b.hash && a.keys == b.keys; }
};

/// A distinct constraint carried by at least one pod. Points into the snapshot.
struct SpreadRule {
  const api::TopologySpreadConstraint* constraint;
  const api::Pod* owner;        ///< first pod that carries it; inclusion policies use its affinity and tolerations
  api::LabelSelector selector;  ///< labelSelector with the owner's values of matchLabelKeys
  std::shared_ptr<const SpreadKeys> keys{};  ///< set only for rules added with `exact`, otherwise nullptr
};

/// Maximum number of rules per selector and per namespace. Each rule costs memory for every domain and time for every
/// move. Real workloads have two or three.
inline constexpr std::size_t kMaxRulesOfSelector = 64;
inline constexpr std::size_t kMaxRulesOfNamespace = 4096;
inline constexpr Refusal kTooManySpreadRules{
    "TooManySpreadRules", "its topology spread constraints exceed the maximum number for its namespace"};

/// Returns the constraint's selector with the pod's values of matchLabelKeys. Returns nullopt if it selects nothing or
/// does not parse.
std::optional<api::LabelSelector> effective_selector(const api::TopologySpreadConstraint& constraint,
                                                     const api::Pod& owner);

/// Set of distinct constraints.
class SpreadRules {
 public:
  void clear();
  /// Adds a constraint of `owner`. With `exact`, constraints also differ by whenUnsatisfiable, minDomains and the
  /// topologies of the owner's other constraints. Returns false if the constraint exceeds a bound and is ignored.
  bool add(const api::TopologySpreadConstraint& constraint, const api::Pod& owner, bool exact);
  const std::vector<SpreadRule>& rules() const { return rules_; }

 private:
  std::vector<SpreadRule> rules_;
  const std::shared_ptr<const SpreadKeys>& keys_of(const api::TopologySpreadConstraint& constraint,
                                                   const api::Pod& owner);

  std::unordered_multimap<std::size_t, std::uint32_t> by_hash_;
  std::unordered_map<std::size_t, std::size_t> of_selector_;  ///< number of rules by hash of the selector
  std::unordered_map<std::size_t, std::shared_ptr<const SpreadKeys>> known_keys_;
  const api::Pod* last_owner_ = nullptr;
  std::array<std::shared_ptr<const SpreadKeys>, 2> last_keys_;  ///< keys of last_owner_: hard, soft
};

/// Nodes that the inclusion policies of a rule accept, by topology domain.
struct SpreadDomains {
  const Topology* topology = nullptr;
  std::vector<std::vector<NodeIndex>> nodes;  ///< indexed by domain; in the order of the given nodes
  std::vector<std::uint32_t> open;            ///< domains with at least one node, ascending
  std::vector<bool> includes;                 ///< indexed by node; true if the policies include it
};

/// Caches the domains of rules that share topology and inclusion policies. Bounds the cost of the rules of one
/// namespace.
class SpreadDomainCache {
 public:
  /// `exact` excludes nodes that lack the topology of another constraint of the same pod, as kube-scheduler does.
  SpreadDomainCache(const WhatIf& cluster, std::span<const NodeIndex> nodes, bool exact)
      : cluster_(&cluster), nodes_(nodes), exact_(exact) {}

  const SpreadDomains& domains_of(const SpreadRule& rule);
  /// Call before the rules of a namespace. May clear the cache, which invalidates all domains returned earlier.
  void begin_namespace();
  /// Adds the label sets compared and the pods counted for a rule of the namespace.
  void note_steps(std::size_t steps) { steps_ += steps; }
  /// Returns true if another rule of the namespace is within the bounds on time and memory.
  bool takes_more() const { return steps_ <= kMaxSteps && bytes_ - bytes_before_ <= kMaxBytes; }

 private:
  bool includes(const SpreadRule& rule, NodeIndex node) const;
  void note_cost(const SpreadRule& rule, const SpreadDomains& domains);

  static constexpr std::size_t kMaxSteps = std::size_t{1} << 23;
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 26;

  struct Entry {
    SpreadRule rule;
    SpreadDomains domains;
  };
  const WhatIf* cluster_;
  std::span<const NodeIndex> nodes_;
  bool exact_;
  std::unordered_multimap<std::size_t, std::unique_ptr<Entry>> entries_;
  std::size_t bytes_ = 0;         ///< approximate size of all entries
  std::size_t bytes_before_ = 0;  ///< value of bytes_ before the current namespace
  std::size_t steps_ = 0;         ///< steps for rules of the current namespace
};

}  // namespace strategies
