#include "planner/report/picture/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "planner/report/picture/tiles.hpp"
#include "planner/report/plain_text.hpp"
#include "planner/report/summary.hpp"

namespace report {
namespace {

constexpr double kWidth = 1200, kMargin = 24, kGutter = 28;
constexpr double kHalf = (kWidth - 2 * kMargin - kGutter) / 2;
constexpr std::size_t kMaxHolds = 12;  // rows

constexpr std::string_view kStyle = R"(
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;font-size:12px;fill:#17222e}
.title{font-size:20px;font-weight:600}.value{font-size:17px;font-weight:600}.head{font-weight:600}
.faint,.small{fill:#5a6b7d}.small{font-size:10px}.freed-name{font-size:10px;font-weight:600;fill:#12805c}
.box{fill:#fff;stroke:#c3cdd8}.box-held{fill:#fff;stroke:#9646c8}.box-freed{fill:#dcf3ea;stroke:#12805c;stroke-width:2}
.box-goes{fill:#fff;stroke:#12805c}.grid{stroke:#d6dde6}.before{fill:#9aa9b9}.after{fill:#2a6fd6}
.stays{fill:#b4c2d1}.with-node{fill:#cdd8e3}.leaving{fill:#d8c15a}.empties{fill:#e8790c}.room{fill:#2f7de1}.holds{fill:#9646c8}
@media(prefers-color-scheme:dark){text{fill:#e6edf5}.faint,.small{fill:#93a3b5}.freed-name{fill:#3fd39b}
.box{fill:#18222d;stroke:#334252}.box-held{fill:#18222d;stroke:#b06be0}.box-freed{fill:#10302a;stroke:#3fd39b}
.box-goes{fill:#18222d;stroke:#3fd39b}.grid{stroke:#273342}.before{fill:#5c6c7e}.after{fill:#5c9dff}
.stays{fill:#4a5c70}.with-node{fill:#2c3948}.leaving{fill:#a8953d}.empties{fill:#f08a24}.room{fill:#4a93f0}.holds{fill:#b06be0}}
)";

struct KindStyle {
  std::string_view css_class;
  std::string_view meaning;
};
/// Indexed by TileKind.
constexpr std::array<KindStyle, kTileKinds> kKindStyles = {{
    {"stays", "stays"},
    {"with-node", "bound to its node (DaemonSet, static)"},
    {"leaving", "leaving already"},
    {"empties", "leaves a node that is freed"},
    {"room", "frees capacity, or balances"},
    {"holds", "keeps its node"},
}};
const KindStyle& style_of(TileKind kind) { return kKindStyles[static_cast<std::size_t>(kind)]; }

constexpr std::array kLegend = {TileKind::kEmpties, TileKind::kRoom,     TileKind::kHolds,
                                TileKind::kStays,   TileKind::kWithNode, TileKind::kLeaving};

/// Formats with one decimal, omitting ".0".
std::string number(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

/// Font size of a CSS class, used for clipping. Must match kStyle.
double size_of(std::string_view css_class) {
  if (css_class == "title") return 20;
  if (css_class == "value") return 17;
  return css_class == "small" || css_class == "freed-name" ? 10 : 12;
}

/// Alignment of text relative to its x coordinate.
enum class Anchor { kStart, kMiddle, kEnd };

/// Writes elements of an SVG document. Coordinates are pixels with one decimal. All escaping of text happens in this
/// class.
class SvgWriter {
 public:
  /// Adds one line of text, clipped to about `most` pixels.
  void text(double x, double y, std::string_view text, std::string_view css_class, double most = 1e9,
            Anchor anchor = Anchor::kStart) {
    static constexpr std::array kAnchors = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    const std::string shown = most < 1e9 ? clip_to(text, most, size_of(css_class)) : std::string(text);
    if (shown.empty()) return;
    body_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\"{}>{}</text>\n", number(x), number(y), css_class,
                         kAnchors[static_cast<std::size_t>(anchor)], escape_markup(shown));
  }

  void rect(double x, double y, double w, double h, std::string_view css_class, double radius = 0,
            std::string_view tooltip = {}) {
    body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"", number(x), number(y),
                         number(w), number(h), css_class);
    if (radius > 0) body_ += fmt::format(" rx=\"{}\"", number(radius));
    body_ += tooltip.empty() ? "/>\n" : "><title>" + escape_markup(tooltip) + "</title></rect>\n";
  }

  void line(double x1, double y1, double x2, double y2, std::string_view css_class) {
    body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", number(x1), number(y1),
                         number(x2), number(y2), css_class);
  }

  /// Draws many rectangles of one class: call add_to_path() for each, then path().
  static void add_to_path(std::string& path, double x, double y, double w, double h) {
    path += "M" + number(x) + " " + number(y) + "h" + number(w) + "v" + number(h) + "h-" + number(w) + "z";
  }
  void path(const std::string& data, std::string_view css_class) {
    if (!data.empty()) body_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", css_class, data);
  }

  /// Returns the whole document with the given size. `style` is CSS.
  std::string finish(double width, double height, std::string_view title, std::string_view description,
                     std::string_view style) const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
        "aria-labelledby=\"t d\">\n<title id=\"t\">{2}</title>\n<desc "
        "id=\"d\">{3}</desc>\n<style>{4}</style>\n{5}</svg>\n",
        number(width), number(height), escape_markup(title), escape_markup(description), style, body_);
  }

 private:
  std::string body_;
};

/// Grid of node boxes that is `kHalf` wide.
struct BoxGrid {
  std::size_t columns = 1;
  double pitch_x = 0, pitch_y = 0, box = 0, header = 0, body = 0;
  double height = 0;

  explicit BoxGrid(std::size_t nodes) {
    columns = std::max<std::size_t>(4, static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(nodes)))));
    pitch_x = kHalf / static_cast<double>(columns);
    const double gap = pitch_x > 40 ? 8 : pitch_x * 0.18;
    box = pitch_x - gap;
    header = box >= 70 ? 16 : 0;
    body = box * 0.68;
    pitch_y = header + body + gap;
    const std::size_t rows = (nodes + columns - 1) / columns;
    height = pitch_y * static_cast<double>(rows);
  }
  double x(std::size_t slot) const { return pitch_x * static_cast<double>(slot % columns); }
  double y(std::size_t slot) const {
    const std::size_t row = slot / columns;
    return pitch_y * static_cast<double>(row);
  }
};

class SvgPicture {
 public:
  explicit SvgPicture(const Report& report)
      : report_(report),
        grid_(report.nodes.size()),
        kinds_(tile_kinds(report)),
        held_open_(held_open(report)),
        order_(drawing_order()) {}

  std::string draw() {
    add_head();
    add_legend();
    y_ += 24;
    svg_.text(kMargin, y_, "Before", "head");
    svg_.text(kMargin + kHalf + kGutter, y_, "After", "head");
    y_ += 10;
    add_nodes(kMargin, false);
    add_nodes(kMargin + kHalf + kGutter, true);
    y_ += grid_.height + 28;
    add_histogram(kMargin, Resource::kCpu, "CPU");
    add_histogram(kMargin + kHalf + kGutter, Resource::kMemory, "memory");
    y_ += 190;
    add_holds();
    return finish();
  }

 private:
  // --- Head

  void add_head() {
    y_ = 40;
    svg_.text(kMargin, y_, "Policy " + report_.policy, "title", kWidth - 2 * kMargin);
    for (const std::string& line : summary_lines(report_)) {
      y_ += 19;
      svg_.text(kMargin, y_, line, y_ < 60 ? "faint" : "text", kWidth - 2 * kMargin);
    }
  }

  void add_legend() {
    y_ += 26;
    double x = kMargin;
    const auto add = [&](std::string_view css_class, std::string_view meaning) {
      svg_.rect(x, y_ - 10, 11, 11, css_class, 2);
      svg_.text(x + 17, y_, meaning, "text");
      x += 17 + static_cast<double>(meaning.size()) * 6.6 + 18;
    };
    for (const TileKind kind : kLegend) {
      if (std::ranges::find(kinds_, kind) != kinds_.end()) add(style_of(kind).css_class, style_of(kind).meaning);
    }
    if (report_.freed() > 0) add("box-freed", "node is freed");
    if (std::ranges::count(held_open_, true) > 0) add("box-held", "node is kept");
  }

  // --- Nodes

  std::vector<std::size_t> drawing_order() const {
    std::vector<std::size_t> order(report_.nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t node) {
      if (report_.nodes[node].fate == NodeFate::kFreed) return 0;
      if (held_open_[node]) return 1;
      return report_.nodes[node].fate == NodeFate::kEmpty ? 3 : 2;
    });
    return order;
  }

  void add_nodes(double left, bool is_after) {
    const auto tiles = tiles_of(report_, Resource::kCpu, is_after, grid_.box / grid_.body);
    std::array<std::string, kTileKinds> paths;
    for (std::size_t slot = 0; slot < order_.size(); ++slot) {
      const double x = left + grid_.x(slot), y = y_ + grid_.y(slot);
      add_box(x, y, order_[slot], is_after);
      for (const Tile& tile : tiles[order_[slot]]) add_tile(x, y + grid_.header, tile, paths);
    }
    for (std::size_t kind = 0; kind < kTileKinds; ++kind) svg_.path(paths[kind], kKindStyles[kind].css_class);
  }

  void add_box(double x, double y, std::size_t at, bool is_after) {
    const ReportNode& node = report_.nodes[at];
    const bool is_freed = node.fate == NodeFate::kFreed;
    std::string_view css_class = held_open_[at] ? "box-held" : "box";
    if (is_freed) css_class = is_after ? "box-freed" : "box-goes";
    svg_.rect(x - 0.5, y - 0.5, grid_.box + 1, grid_.header + grid_.body + 1, css_class, grid_.header > 0 ? 3 : 0);
    if (grid_.header == 0) return;
    const std::string right = is_freed && is_after ? "freed" : percent(share_of(node, Resource::kCpu, is_after));
    svg_.text(x + grid_.box - 4, y + 12, right, is_freed && is_after ? "freed-name" : "small", 1e9, Anchor::kEnd);
    svg_.text(x + 4, y + 12, node.name, "small", grid_.box - 14 - static_cast<double>(right.size()) * 6);
  }

  void add_tile(double x, double y, const Tile& tile, std::array<std::string, kTileKinds>& paths) {
    const double left = x + tile.place.x * grid_.box, width = tile.place.w * grid_.box;
    const double height = tile.place.h * grid_.body;
    const double top = y + grid_.body - tile.place.y * grid_.body - height;
    const double gap = std::min(width, height) > 4 ? 1 : std::min(width, height) * 0.15;
    const TileKind kind = kinds_[tile.pod];
    if (report_.pods.size() <= kMaxTooltips) {
      svg_.rect(left, top, width - gap, height - gap, style_of(kind).css_class, 0, tooltip_of(tile.pod));
    } else {
      SvgWriter::add_to_path(paths[static_cast<std::size_t>(kind)], left, top, width - gap, height - gap);
    }
  }

  std::string tooltip_of(std::size_t pod) {
    if (tooltips_.empty()) {
      for (const ReportPod& each : report_.pods) tooltips_.push_back(each.ns + "/" + each.name);
      for (const ReportMove& move : report_.moves) {
        const std::string to = move.to == kNoNode ? "unknown node" : report_.nodes[move.to].name;
        const std::string wave = move.wave > 0 ? fmt::format(" in wave {}", move.wave) : "";
        tooltips_[move.pod] += fmt::format(" moves from {} to {}{}: {}",
                                           report_.nodes[report_.pods[move.pod].node].name, to, wave, move.reason);
      }
    }
    return tooltips_[pod];
  }

  // --- Histograms

  void add_histogram(double left, Resource resource, std::string_view name) {
    constexpr double kHeight = 110, kAxis = 34;
    const Histogram& histogram = report_.histograms[static_cast<std::size_t>(resource)];
    const bool has_excess = histogram.before.back() > 0 || histogram.after.back() > 0;
    const std::size_t bins = has_excess ? kHistogramBins : kHistogramBins - 1;
    const std::int32_t most =
        std::max({1, *std::ranges::max_element(histogram.before), *std::ranges::max_element(histogram.after)});
    const double step = (kHalf - kAxis) / static_cast<double>(bins);
    const double top = y_ + 20, floor = top + kHeight;
    svg_.text(left, y_, fmt::format("Nodes by requested {}", name), "head");
    svg_.rect(left + kHalf - 118, y_ - 10, 11, 11, "before", 2);
    svg_.text(left + kHalf - 102, y_, "before", "text");
    svg_.rect(left + kHalf - 50, y_ - 10, 11, 11, "after", 2);
    svg_.text(left + kHalf - 34, y_, "after", "text");
    for (const std::int32_t value : {most, 0}) {
      const double y = value == 0 ? floor : top;
      svg_.line(left + kAxis, y, left + kHalf, y, "grid");
      svg_.text(left + kAxis - 6, y + 4, std::to_string(value), "small", 1e9, Anchor::kEnd);
    }
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const double x = left + kAxis + step * static_cast<double>(bin);
      const auto bar = [&](double at, std::int32_t value, std::string_view css_class) {
        const double height = kHeight * value / most;
        if (value > 0) svg_.rect(at, floor - height, step * 0.38, height, css_class);
      };
      bar(x + step * 0.1, histogram.before[bin], "before");
      bar(x + step * 0.5, histogram.after[bin], "after");
      const std::string range = bin < 10 ? fmt::format("{}–{} %", bin * 10, bin * 10 + 10) : "> 100 %";
      svg_.text(x + step / 2, floor + 15, range, "small", 1e9, Anchor::kMiddle);
    }
  }

  // --- Held nodes

  void add_holds() {
    if (report_.held.empty()) return;
    std::map<std::string_view, int> reasons;
    for (const ReportHold& hold : report_.held) ++reasons[hold.reason];
    std::string counts;
    for (const auto& [reason, count] : reasons)
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, reason);
    svg_.text(kMargin, y_, "What keeps nodes", "head");
    svg_.text(kMargin + 130, y_, counts, "faint", kWidth - 2 * kMargin - 130);
    const std::size_t shown = std::min(report_.held.size(), kMaxHolds);
    for (std::size_t i = 0; i < shown; ++i) {
      const ReportHold& hold = report_.held[i];
      y_ += 18;
      svg_.text(kMargin, y_, report_.nodes[hold.node].name, "text", 170);
      svg_.text(kMargin + 180, y_, hold.pod.empty() ? "no single pod" : hold.pod, "text", 240);
      svg_.text(kMargin + 430, y_, hold.reason + ": " + hold.message, "faint", kWidth - 2 * kMargin - 430);
    }
    y_ += 18;
    if (report_.held.size() > shown)
      svg_.text(kMargin, y_, fmt::format("and {} more", report_.held.size() - shown), "faint");
  }

  std::string finish() {
    const double height = y_ + 24;
    std::string description;
    for (const std::string& line : summary_lines(report_)) description += (description.empty() ? "" : " ") + line;
    const std::string style =
        std::string(kStyle) + "svg{background:#f6f8fa}@media(prefers-color-scheme:dark){svg{background:#0d131a}}\n";
    return svg_.finish(kWidth, height, "Evacuator: policy " + report_.policy, description, style);
  }

  const Report& report_;
  const BoxGrid grid_;
  const std::vector<TileKind> kinds_;
  const std::vector<bool> held_open_;
  const std::vector<std::size_t> order_;
  std::vector<std::string> tooltips_;  ///< by pod; created on demand
  SvgWriter svg_;
  double y_ = 0;  ///< position of the next element
};

}  // namespace

std::string clip_to(std::string_view text, double pixels, double font_size) {
  const auto most = static_cast<std::size_t>(std::max(0.0, pixels / (font_size * 0.57)));
  if (characters(text) <= most) return std::string(text);
  return most < 3 ? "" : std::string(first_characters(text, most - 1)) + "…";
}

std::string svg_picture(const Report& report) { return SvgPicture(report).draw(); }

}  // namespace report
