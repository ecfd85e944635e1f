#pragma once

/// What topology spread strategies share: the distinct constraints of a namespace, and the nodes that belong to the
/// domains of each. Everything is looked up by hash or index, so that thousands of constraints over
/// thousands of nodes cost little more than the pods they count.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/core/kinds.hpp"
#include "scheduling/overlay.hpp"
#include "strategies/strategy.hpp"

namespace strategies {

/// One distinct constraint, as carried by at least one pod. Points into the snapshot.
struct SpreadRule {
  const api::TopologySpreadConstraint* constraint;
  const api::Pod* owner;        ///< the first pod that carries it: policies look at its affinity and tolerations
  api::LabelSelector selector;  ///< labelSelector with the owner's values of matchLabelKeys
};

/// The constraint's selector with the pod's values of matchLabelKeys; nullopt: it selects nothing, or does not parse.
std::optional<api::LabelSelector> effective_selector(const api::TopologySpreadConstraint& constraint,
                                                     const api::Pod& owner);

/// Collects constraints and keeps each only once.
class SpreadRules {
 public:
  void clear();
  /// Adds what `owner` carries. `exact`: whenUnsatisfiable, minDomains and the topologies of the owner's other
  /// constraints tell constraints apart as well.
  void add(const api::TopologySpreadConstraint& constraint, const api::Pod& owner, bool exact);
  const std::vector<SpreadRule>& rules() const { return rules_; }

 private:
  std::vector<SpreadRule> rules_;
  std::unordered_multimap<std::size_t, std::uint32_t> by_hash_;
};

/// Nodes that the inclusion policies of a rule let in, by topology domain.
struct SpreadDomains {
  const scheduling::Topology* topology = nullptr;
  std::vector<std::vector<NodeIndex>> nodes;  ///< by domain; in the order the nodes were given
  std::vector<std::uint32_t> open;            ///< domains with at least one node, ascending
  std::vector<bool> includes;                 ///< by node: the policies let it in
};

/// Works out the domains of a rule once for all rules that share the topology and what the policies look at.
class SpreadDomainCache {
 public:
  /// `exact`: leaves out nodes that lack the topology of another constraint of the same pod, as kube-scheduler does.
  SpreadDomainCache(const scheduling::Overlay& cluster, std::span<const NodeIndex> nodes, bool exact)
      : cluster_(&cluster), nodes_(nodes), exact_(exact) {}

  const SpreadDomains& domains_of(const SpreadRule& rule);

 private:
  bool includes(const SpreadRule& rule, NodeIndex node) const;

  struct Entry {
    SpreadRule rule;
    SpreadDomains domains;
  };
  const scheduling::Overlay* cluster_;
  std::span<const NodeIndex> nodes_;
  bool exact_;
  std::unordered_multimap<std::size_t, std::unique_ptr<Entry>> entries_;
};

}  // namespace strategies
