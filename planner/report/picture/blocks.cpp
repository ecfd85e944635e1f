#include "planner/report/picture/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "planner/report/picture/tiles.hpp"
#include "planner/report/plain_text.hpp"
#include "planner/report/summary.hpp"

namespace report {
namespace {

/// Parts of a bar, in drawing order, as shares of the node's allocatable.
struct Bar {
  double stays = 0;
  double empties = 0;
  double room = 0;
  double all() const { return stays + empties + room; }
};

enum class Part { kStays, kEmpties, kRoom, kFree };
struct PartStyle {
  std::string_view cell;
  std::string_view ascii_cell;
  std::string_view colour;
  std::string_view meaning;
};
/// Indexed by Part.
constexpr std::array<PartStyle, 4> kPartStyles = {{{"█", "#", "", "stays"},
                                                   {"▓", "+", "33", "leaves a node that is freed"},
                                                   {"▒", "=", "34", "frees capacity"},
                                                   {"░", ".", "2", "free"}}};

struct FateStyle {
  int rank;  ///< order of groups
  std::string_view colour;
};
/// Indexed by NodeFate.
constexpr std::array<FateStyle, 4> kFateStyles = {{{3, "2"}, {0, "32"}, {1, "35"}, {2, ""}}};
const FateStyle& style_of(NodeFate fate) { return kFateStyles[static_cast<std::size_t>(fate)]; }

struct Row {
  std::string name;
  Bar before;
  Bar after;
  NodeFate fate = NodeFate::kEmpty;
  std::string holder;  ///< pod that holds the node; empty if there is no single one
  std::string rule;    ///< rule that holds the node; empty if unknown
};

/// Replaces non-ASCII characters by "?" for terminals without UTF-8.
std::string ascii_of(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char32_t c = take_character(text);
    out += c < 0x80 ? static_cast<char>(c) : '?';
  }
  return out;
}

class BlockPicture {
 public:
  BlockPicture(const Report& report, const BlockStyle& style) : report_(report), style_(style) {
    const auto share = [&](Resource resource) { return report.busy_share[static_cast<std::size_t>(resource)].before; };
    resource_ = share(Resource::kMemory) > share(Resource::kCpu) ? Resource::kMemory : Resource::kCpu;
  }

  std::string draw() {
    std::vector<Row> rows = node_rows();
    if (rows.size() > kMaxBlockRows) rows = group_rows(rows);
    measure(rows);
    std::string text = heading();
    for (const Row& row : rows) text += line(row) + "\n";
    return text;
  }

 private:
  // --- Content

  std::vector<Row> node_rows() const {
    std::vector<Row> rows;
    for (const ReportNode& node : report_.nodes) {
      Row& row = rows.emplace_back();
      row.name = node.name;
      row.fate = node.fate;
      row.before.stays = share_of(node, resource_, false);
      row.after.stays = share_of(node, resource_, true);
    }
    for (const ReportMove& move : report_.moves) {
      const NodeIndex from = report_.pods[move.pod].node;
      take(rows[from].before, move, from);
      if (move.to != kNoNode) take(rows[move.to].after, move, move.to);
    }
    for (const ReportHold& hold : report_.held) {
      rows[hold.node].holder = hold.pod;
      rows[hold.node].rule = hold.reason;
    }
    return rows;
  }

  void take(Bar& bar, const ReportMove& move, NodeIndex node) const {
    const double share = std::min(share_of(report_.pods[move.pod], report_.nodes[node], resource_), bar.stays);
    bar.stays -= share;
    (move.empties_node ? bar.empties : bar.room) += share;
  }

  /// Groups nodes that look alike into one row with their mean and the rule that holds most of them. Sorts by fate,
  /// then by descending size.
  std::vector<Row> group_rows(const std::vector<Row>& rows) const {
    using Look = std::tuple<int, int, int>;
    std::map<Look, std::vector<const Row*>> groups;
    for (const Row& row : rows) groups[{style_of(row.fate).rank, tenth(row.before), tenth(row.after)}].push_back(&row);
    std::vector<std::pair<int, std::vector<const Row*>>> sorted;
    for (auto& [look, members] : groups) sorted.emplace_back(std::get<0>(look), std::move(members));
    std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second.size() > b.second.size();
    });
    std::vector<Row> grouped;
    for (const auto& [rank, members] : sorted) grouped.push_back(mean(members));
    return grouped;
  }

  static int tenth(const Bar& bar) { return static_cast<int>(std::min(bar.all(), 2.0) * 10); }

  static Row mean(const std::vector<const Row*>& members) {
    if (members.size() == 1) return *members.front();
    Row row;
    const auto count = static_cast<double>(members.size());
    std::map<std::string_view, int> holds;
    for (const Row* each : members) {
      add(row.before, each->before, count);
      add(row.after, each->after, count);
      if (!each->rule.empty()) ++holds[each->rule];
    }
    row.name = plural(static_cast<std::int64_t>(members.size()), "node");
    row.fate = members.front()->fate;
    const auto most = std::ranges::max_element(holds, {}, [](const auto& each) { return each.second; });
    if (most != holds.end()) row.rule = most->first;
    return row;
  }
  static void add(Bar& to, const Bar& bar, double count) {
    to.stays += bar.stays / count;
    to.empties += bar.empties / count;
    to.room += bar.room / count;
  }

  // --- Layout

  void measure(const std::vector<Row>& rows) {
    std::size_t longest = 4;
    for (const Row& row : rows) longest = std::max(longest, characters(row.name));
    name_ = std::min<std::size_t>(longest, 26);
    // Width of everything but names and bars: " 100 %" per bar, an arrow and separators.
    constexpr std::size_t kBeside = 2 + 2 * 7 + 2 + 2;
    constexpr std::size_t kNote = 24;
    const std::size_t left = style_.columns - std::min(style_.columns, name_ + kBeside + kNote);
    bar_ = std::clamp<std::size_t>(left / 2, 6, 36);
    const std::size_t used = name_ + kBeside + 2 * bar_;
    note_ = style_.columns > used ? style_.columns - used : 0;
  }

  std::string heading() const {
    const std::string what = resource_ == Resource::kCpu ? "CPU" : "memory";
    std::string text = fmt::format("\nNODES by {} requests, before {} after\n", what, arrow());
    const std::string_view separator = style_.columns < 72 ? "\n" : "   ";
    for (std::size_t part = 0; part < kPartStyles.size(); ++part)
      text += fmt::format("{}{} {}", part == 0 ? "" : separator, cells(1, static_cast<Part>(part)),
                          kPartStyles[part].meaning);
    return text + "\n";
  }

  std::string line(const Row& row) const {
    std::string name = style_.has_unicode ? row.name : ascii_of(row.name);
    name.resize(first_characters(name, name_).size());
    name.append(name_ - characters(name), ' ');
    std::string text = fmt::format("{}  {} {:>6}{} {} {:>6}", name, bar(row.before), percent(row.before.all()),
                                   " " + arrow(), bar(row.after), percent(row.after.all()));
    const std::string note = note_of(row);
    if (note.empty() || note_ < 4) return text;
    return text + "  " + paint(first_characters(note, note_ - 2), style_of(row.fate).colour);
  }

  std::string note_of(const Row& row) const {
    const std::string holder = style_.has_unicode ? row.holder : ascii_of(row.holder);
    switch (row.fate) {
      case NodeFate::kFreed: return "freed";
      case NodeFate::kHeld: return row.rule + (holder.empty() ? "" : " " + holder);
      case NodeFate::kStays: return "";
      case NodeFate::kEmpty: return "empty";
    }
    return "";
  }

  std::string bar(const Bar& bar) const {
    double sum = 0;
    std::size_t drawn = 0;
    std::string text;
    const auto add = [&](double share, Part part) {
      sum += share;
      const double cells_to = std::min(sum, 1.0) * static_cast<double>(bar_);
      auto end = static_cast<std::size_t>(std::lround(cells_to));
      // Moves are always visible, even if they are tiny.
      if (share > 0 && part != Part::kStays) end = std::max(end, drawn + 1);
      end = std::clamp(end, drawn, bar_);
      text += cells(end - drawn, part);
      drawn = end;
    };
    add(bar.stays, Part::kStays);
    add(bar.room, Part::kRoom);
    add(bar.empties, Part::kEmpties);
    return text + cells(bar_ - drawn, Part::kFree);
  }

  std::string cells(std::size_t count, Part part) const {
    if (count == 0) return {};
    const PartStyle& style = kPartStyles[static_cast<std::size_t>(part)];
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += style_.has_unicode ? style.cell : style.ascii_cell;
    return paint(text, style.colour);
  }

  std::string paint(std::string_view text, std::string_view colour) const {
    if (!style_.has_colour || colour.empty() || text.empty()) return std::string(text);
    return fmt::format("\033[{}m{}\033[0m", colour, text);
  }
  std::string arrow() const { return style_.has_unicode ? "→" : ">"; }

  const Report& report_;
  const BlockStyle& style_;
  Resource resource_ = Resource::kCpu;
  std::size_t name_ = 0, bar_ = 0, note_ = 0;  ///< widths in columns
};

}  // namespace

std::string block_picture(const Report& report, const BlockStyle& style) { return BlockPicture(report, style).draw(); }

}  // namespace report
