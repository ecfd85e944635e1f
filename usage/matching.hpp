#pragma once

/// Maps the node names of sources to those of the cluster. Pure.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/core/kinds.hpp"
#include "usage/samples.hpp"

namespace usage {

/// Node with its other names: status.addresses (IPs, host names), the label kubernetes.io/hostname.
struct NodeNames {
  std::string name;
  std::vector<std::string> addresses;
};
NodeNames names_of(const api::Node& node);

/// Finds the node that a source refers to: by its name; if only one of the names has a domain, by the part before the
/// first dot; else by an address. A node writes its own addresses and may list those of others, so names take
/// precedence over addresses. Ignores case. A name that fits two nodes matches none.
class NodeMatcher {
 public:
  explicit NodeMatcher(const std::vector<NodeNames>& nodes);
  /// Returns the node's name, or "". `instance` may have a port. The view is valid as long as the matcher.
  std::string_view match(std::string_view instance) const;
  /// Returns "n1 and n2" if `instance` matches only as an address that both nodes list, else "".
  std::string listed_by(std::string_view instance) const;

 private:
  using Index = std::unordered_map<std::string, std::string>;  ///< maps to a node's name, "" if ambiguous
  static void put(Index& index, std::string key, const std::string& node);
  static std::string_view find(const Index& index, const std::string& key);
  std::string_view match_name(const std::string& name) const;

  /// First two nodes that list an address. `other` is empty if there is only one.
  struct Listed {
    std::string node;
    std::string other;
  };

  Index names_;
  std::unordered_map<std::string, Listed> addresses_;
  Index short_names_;
};

/// Replaces the names of the samples' nodes by those in the cluster, and sorts again. Drops nodes that match none or
/// that two nodes list as their address. If several entries match one node, it loses its values. A problem names the
/// nodes concerned.
void match_nodes(Samples& samples, const NodeMatcher& matcher);
/// Replaces the names of the histories' nodes, by the same rules.
void match_nodes(std::vector<Series>& series, const NodeMatcher& matcher);

}  // namespace usage
