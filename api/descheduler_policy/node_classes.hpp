#pragma once

/// status.nodeClasses of a DeschedulerPolicy: how the last cycle's utilization strategies classified the nodes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"

namespace api {

/// Class of a node according to one utilization strategy.
enum class NodeClass {
  kOverutilized,
  kUnderutilized,
  kAppropriate,    ///< between the two; with HighNodeUtilization every node that is not underutilized
  kUnknown,        ///< its usage is unknown
  kOutOfScope,     ///< it has none of the resources that have thresholds
  kNotConsidered,  ///< not Ready, not selected, or about to be removed
};
std::string_view to_string(NodeClass node_class);

struct ClassifiedNode {
  std::string node;
  NodeClass node_class = NodeClass::kAppropriate;
  bool cordoned = false;
  std::string reason;  ///< the deciding threshold, with numbers
  friend bool operator==(const ClassifiedNode&, const ClassifiedNode&) = default;
};

struct NodeClasses {
  std::string strategy;
  std::int32_t over = 0;
  std::int32_t under = 0;
  std::int32_t appropriate = 0;
  std::int32_t unknown = 0;
  std::int32_t out_of_scope = 0;
  std::int32_t not_considered = 0;
  std::int32_t cordoned_under = 0;    ///< cordoned nodes in `under`, which accept no pods
  std::string note;                   ///< why nothing is moved, or what was left out; may be empty
  std::vector<ClassifiedNode> nodes;  ///< first nodes only, deciding ones first
  friend bool operator==(const NodeClasses&, const NodeClasses&) = default;

  std::int32_t total() const { return over + under + appropriate + unknown + out_of_scope + not_considered; }
  /// "3 nodes: 1 overutilized, 2 underutilized (1 cordoned)".
  std::string summary() const;
};

/// Maximum number of published rows per strategy, and of strategies.
inline constexpr std::size_t kMaxPublishedClassifiedNodes = 20;
inline constexpr std::size_t kMaxPublishedNodeClasses = 16;

/// Encodes one strategy with its first `rows` nodes.
Json encode_node_classes(const NodeClasses& classes, std::size_t rows);
/// Reads status.nodeClasses; skips invalid rows.
std::vector<NodeClasses> node_classes_of(const Json& status);
void put_node_classes(Json& status, const std::vector<NodeClasses>& all);

}  // namespace api
