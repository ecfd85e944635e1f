#pragma once

/// What topology spread strategies share: the distinct constraints of a namespace, and the nodes that belong to the
/// domains of each. Everything is looked up by hash or index, so that thousands of constraints over
/// thousands of nodes cost little more than the pods they count.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/core/kinds.hpp"
#include "planner/scheduling/what_if.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// The topologies of a pod's constraints of one kind, sorted: where a node lacks one, kube-scheduler leaves it out of
/// the counts of all.
struct SpreadKeys {
  std::vector<std::string_view> keys;
  std::size_t hash = 0;
  friend bool operator==(const SpreadKeys& a, const SpreadKeys& b) { return a.hash == b.hash && a.keys == b.keys; }
};

/// One distinct constraint, as carried by at least one pod. Points into the snapshot.
struct SpreadRule {
  const api::TopologySpreadConstraint* constraint;
  const api::Pod* owner;        ///< the first pod that carries it: policies look at its affinity and tolerations
  api::LabelSelector selector;  ///< labelSelector with the owner's values of matchLabelKeys
  std::shared_ptr<const SpreadKeys> keys{};  ///< of rules that are kept exactly; else nullptr
};

/// Rules of a namespace over one selector, and in all. Each costs memory for every domain, and time for every move;
/// real workloads have two or three.
inline constexpr std::size_t kMaxRulesOfSelector = 64;
inline constexpr std::size_t kMaxRulesOfNamespace = 4096;
inline constexpr scheduling::Refusal kTooManySpreadRules{
    "TooManySpreadRules", "its topology spread constraints are beyond the bound on those of its namespace"};

/// The constraint's selector with the pod's values of matchLabelKeys; nullopt: it selects nothing, or does not parse.
std::optional<api::LabelSelector> effective_selector(const api::TopologySpreadConstraint& constraint,
                                                     const api::Pod& owner);

/// Collects constraints and keeps each only once.
class SpreadRules {
 public:
  void clear();
  /// Adds what `owner` carries. `exact`: whenUnsatisfiable, minDomains and the topologies of the owner's other
  /// constraints tell constraints apart as well. False: it is beyond a bound and ignored.
  bool add(const api::TopologySpreadConstraint& constraint, const api::Pod& owner, bool exact);
  const std::vector<SpreadRule>& rules() const { return rules_; }

 private:
  std::vector<SpreadRule> rules_;
  const std::shared_ptr<const SpreadKeys>& keys_of(const api::TopologySpreadConstraint& constraint,
                                                   const api::Pod& owner);

  std::unordered_multimap<std::size_t, std::uint32_t> by_hash_;
  std::unordered_map<std::size_t, std::size_t> of_selector_;  ///< number of rules, by the selector's hash
  std::unordered_map<std::size_t, std::shared_ptr<const SpreadKeys>> known_keys_;
  const api::Pod* last_owner_ = nullptr;
  std::array<std::shared_ptr<const SpreadKeys>, 2> last_keys_;  ///< of last_owner_: hard, soft
};

/// Nodes that the inclusion policies of a rule let in, by topology domain.
struct SpreadDomains {
  const scheduling::Topology* topology = nullptr;
  std::vector<std::vector<NodeIndex>> nodes;  ///< by domain; in the order the nodes were given
  std::vector<std::uint32_t> open;            ///< domains with at least one node, ascending
  std::vector<bool> includes;                 ///< by node: the policies let it in
};

/// Works out the domains of a rule once for all rules that share the topology and what the policies look at. Bounds
/// what the rules of one namespace may cost.
class SpreadDomainCache {
 public:
  /// `exact`: leaves out nodes that lack the topology of another constraint of the same pod, as kube-scheduler does.
  SpreadDomainCache(const scheduling::WhatIf& cluster, std::span<const NodeIndex> nodes, bool exact)
      : cluster_(&cluster), nodes_(nodes), exact_(exact) {}

  const SpreadDomains& domains_of(const SpreadRule& rule);
  /// The rules of a namespace come next. Drops what it knows if that is much: domains that it returned are gone then.
  void begin_namespace();
  /// Label sets that were compared and pods that were counted for a rule of the namespace.
  void note_steps(std::size_t steps) { steps_ += steps; }
  /// One more rule of the namespace is within the bounds on time and memory.
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
  const scheduling::WhatIf* cluster_;
  std::span<const NodeIndex> nodes_;
  bool exact_;
  std::unordered_multimap<std::size_t, std::unique_ptr<Entry>> entries_;
  std::size_t bytes_ = 0;         ///< of all entries, roughly
  std::size_t bytes_before_ = 0;  ///< of those, before the namespace in hand
  std::size_t steps_ = 0;         ///< for the rules of the namespace in hand
};

}  // namespace strategies
