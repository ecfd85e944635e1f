#pragma once

/// From the names that sources have for nodes to the cluster's. Pure.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/core/kinds.hpp"
#include "usage/samples.hpp"

namespace usage {

/// A node and what else it is called: status.addresses (IPs, host names), the label kubernetes.io/hostname.
struct NodeNames {
  std::string name;
  std::vector<std::string> addresses;
};
NodeNames names_of(const api::Node& node);

/// Finds the node that a source means: by its name, then, when a name has a domain on one side only, by the part before
/// the first dot, then by one of its addresses. A node writes its addresses itself and may list those of others, so
/// they never win over a name. Host names in any case. What fits two nodes fits none.
class NodeMatcher {
 public:
  explicit NodeMatcher(const std::vector<NodeNames>& nodes);
  /// The node's name, or "". `instance` may have a port. The view lives as long as the matcher.
  std::string_view match(std::string_view instance) const;
  /// "n1 and n2" if `instance` is an address that both list and is found in no other way; "": it is not.
  std::string listed_by(std::string_view instance) const;

 private:
  using Index = std::unordered_map<std::string, std::string>;  ///< to a node's name; "": to several
  static void put(Index& index, std::string key, const std::string& node);
  static std::string_view find(const Index& index, const std::string& key);
  std::string_view match_name(const std::string& name) const;

  /// The first two nodes that list an address; one: `other` is empty.
  struct Listed {
    std::string node;
    std::string other;
  };

  Index names_;
  std::unordered_map<std::string, Listed> addresses_;
  Index short_names_;
};

/// Gives the samples' nodes their names in the cluster, sorted again. Those that no node fits or that two nodes list
/// as their address are left out, and those of which a node has several lose their values; a problem names them.
void match_nodes(Samples& samples, const NodeMatcher& matcher);
/// The same for histories.
void match_nodes(std::vector<Series>& series, const NodeMatcher& matcher);

}  // namespace usage
