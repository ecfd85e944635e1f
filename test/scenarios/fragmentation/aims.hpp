#pragma once

/// Aims for plans of fragmented clusters.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "test/scenarios/fragmentation/judge.hpp"

namespace fragmentation {

/// Result of another method on the same cluster.
struct Rival {
  std::string_view name;
  int freed = 0;
  int moves = 0;
};

/// Result of an exact solver.
struct Optimum {
  int freed = 0;               ///< maximum number of freed nodes
  bool is_proven = false;      ///< whether `freed` can be reached; otherwise it is only an upper bound
  std::optional<int> moves{};  ///< minimum number of moves that free the number of nodes of `ours`; nullopt if not
                               ///< computed
};

/// Percentages.
struct Marks {
  int min_freed = 95;    ///< of the nodes that can be freed
  int most_moves = 120;  ///< of the lowest known number of moves
};

/// Returns the default marks, or lower ones for a few adverse clusters (see aims.cpp for the reasons).
Marks marks_of(std::string_view kind, int nodes, bool with_hints);

struct Attempt {
  std::string_view kind;  ///< kind of the cluster
  Verdict ours;
  std::vector<Rival> rivals{};   ///< other strategies
  std::vector<Rival> methods{};  ///< other methods of this strategy
  std::optional<Optimum> optimum{};
  std::optional<int> promised{};  ///< upper bound that the strategy reports
  Marks marks{};
};

/// Returns a description of each aim that is missed:
/// - No rule is broken, and no more nodes are freed than the bound. The bound that the strategy reports is at least the
///   number that any method frees.
/// - At least 95 % (see Marks) of the bound, and of the optimum where it is known, is freed, and at least as many as by
///   each rival.
/// - At most 2.2 moves per freed node on "classic", at most 1.2 times the moves of the optimum, and at most the moves
///   of a rival or method that frees at least as many.
std::vector<std::string> missed_aims(const Attempt& attempt);

}  // namespace fragmentation
