#include "test/scenarios/fragmentation/aims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fragmentation {
namespace {

/// A known case that misses the aims, with the marks that it reaches.
struct Exception {
  std::string_view kind;
  int nodes;
  bool with_hints;
  Marks marks;
};

constexpr std::array kExceptions = {
    // A huge pod needs a gap that many pods leave. Once some of them have left, their node is the emptiest, and the
    // scheduler puts the next ones back there. Without hints a plan empties a node with many pods instead, or none.
    Exception{"huge", 12, false, {.most_moves = 330}},
    Exception{"huge", 60, false, {.min_freed = 80}},
    // Machines and pods of three shapes: an exact solver frees 42 nodes, plans free 38 and 40. The bound is 43.
    Exception{"shapes", 60, false, {.min_freed = 85}},
    Exception{"shapes", 60, true, {.min_freed = 90}},
    // 81 moves where 63 suffice with hints. The cause has not been investigated.
    Exception{"zoned", 60, false, {.most_moves = 140}},
};

constexpr int kMaxOnClassicPercent = 220;  // moves per freed node

class Aims {
 public:
  explicit Aims(const Attempt& attempt) : attempt_(attempt), ours_(attempt.ours) {}

  std::vector<std::string> missed() {
    for (const std::string& rule : ours_.broken) missed_.push_back("broken: " + rule);
    check_bound();
    check_promise();
    if (attempt_.kind == "classic" && ours_.moves * 100 > ours_.freed() * kMaxOnClassicPercent)
      missed_.push_back(fmt::format("{} moves for {} nodes: more than 2.2 a node", ours_.moves, ours_.freed()));
    if (attempt_.optimum && attempt_.optimum->moves) check_moves("an exact solver", *attempt_.optimum->moves);
    for (const Rival& rival : attempt_.rivals) check_rival(rival);
    for (const Rival& method : attempt_.methods) check_moves_of(method);
    return std::move(missed_);
  }

 private:
  void check_bound() {
    if (ours_.freed() > ours_.bound) missed_.push_back("more is freed than the bound: that one is wrong");
    const int most = attempt_.optimum ? std::min(ours_.bound, attempt_.optimum->freed) : ours_.bound;
    if (ours_.freed() * 100 < most * attempt_.marks.min_freed)
      missed_.push_back(fmt::format("{} nodes of {}: below {} %", ours_.freed(), most, attempt_.marks.min_freed));
  }

  void check_promise() {
    int most = std::max(ours_.freed(), attempt_.optimum && attempt_.optimum->is_proven ? attempt_.optimum->freed : 0);
    for (const Rival& rival : attempt_.rivals) most = std::max(most, rival.freed);
    if (attempt_.promised && *attempt_.promised < most)
      missed_.push_back(fmt::format("{} nodes can be freed, the strategy says {} at most", most, *attempt_.promised));
  }

  void check_rival(const Rival& rival) {
    if (rival.freed > ours_.freed())
      missed_.push_back(fmt::format("{} frees {} nodes, ours {}", rival.name, rival.freed, ours_.freed()));
    check_moves_of(rival);
  }

  void check_moves_of(const Rival& other) {
    if (other.freed >= ours_.freed()) check_moves(other.name, other.moves);
  }

  void check_moves(std::string_view of, int fewest) {
    if (ours_.moves * 100 > fewest * attempt_.marks.most_moves)
      missed_.push_back(fmt::format("{} moves, {} needs {}", ours_.moves, of, fewest));
  }

  const Attempt& attempt_;
  const Verdict& ours_;
  std::vector<std::string> missed_;
};

}  // namespace

Marks marks_of(std::string_view kind, int nodes, bool with_hints) {
  const auto found = std::ranges::find_if(kExceptions, [&](const Exception& each) {
    return each.kind == kind && each.nodes == nodes && each.with_hints == with_hints;
  });
  return found == kExceptions.end() ? Marks{} : found->marks;
}

std::vector<std::string> missed_aims(const Attempt& attempt) { return Aims(attempt).missed(); }

}  // namespace fragmentation
