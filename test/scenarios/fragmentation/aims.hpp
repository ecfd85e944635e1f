#pragma once

/// What a plan for a fragmented cluster is to come to.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "test/scenarios/fragmentation/judge.hpp"

namespace fragmentation {

/// What another way comes to on the same cluster.
struct Rival {
  std::string_view name;
  int freed = 0;
  int moves = 0;
};

/// What an exact solver says.
struct Optimum {
  int freed = 0;               ///< no plan frees more nodes
  bool is_proven = false;      ///< as many could be freed; else it is but a bound
  std::optional<int> moves{};  ///< no plan frees as many as ours with fewer; nullopt: it was not asked
};

/// In percent.
struct Marks {
  int min_freed = 95;    ///< of what can be freed
  int most_moves = 120;  ///< of the fewest moves known
};

/// Less is asked of a few of the adverse clusters (aims.cpp says why); else the aims of all.
Marks marks_of(std::string_view kind, int nodes, bool with_hints);

struct Attempt {
  std::string_view kind;  ///< of the cluster
  Verdict ours;
  std::vector<Rival> rivals{};   ///< other strategies
  std::vector<Rival> methods{};  ///< other ways of this strategy
  std::optional<Optimum> optimum{};
  std::optional<int> promised{};  ///< what the strategy says that no plan exceeds
  Marks marks{};
};

/// Each aim that is missed, in words:
/// - no rule is broken, and no node freed beyond the bound; what is promised is no less than any way frees;
/// - of the marks, at least 95 % of what the bound, and the optimum where it is known, say can be freed; never less
/// than a rival;
/// - at most 2.2 moves a freed node on "classic", 1.2 times the optimum's, and those of a rival or method that frees as
///   many or more.
std::vector<std::string> missed_aims(const Attempt& attempt);

}  // namespace fragmentation
