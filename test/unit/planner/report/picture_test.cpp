#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <sstream>

#include "planner/report/html.hpp"
#include "planner/report/picture/blocks.hpp"
#include "planner/report/picture/svg.hpp"
#include "planner/report/picture/tiles.hpp"
#include "planner/report/plain_text.hpp"
#include "test/unit/planner/report/report_fixture.hpp"

namespace report {
namespace picture_test {

using namespace reporting_test;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t width_of(std::string_view line) {
  std::size_t width = 0;
  for (; !line.empty(); ++width) take_character(line);
  return width;
}

std::string line_with(const std::string& text, const std::string& what) {
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(what)) return line;
  }
  return "";
}

// --- layout_treemap()

TEST(StripsTest, AreasAreSharesInsideTheBoxWithoutOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> shares;
    const int count = 1 + static_cast<int>(random() % 60);
    for (int i = 0; i < count; ++i)
      shares.push_back(0.004 + static_cast<double>(random() % 1000) / 1000.0 * 0.9 / count);
    const auto strips = layout_treemap(shares, 1.36);
    ASSERT_THAT(strips, SizeIs(shares.size()));
    for (std::size_t i = 0; i < strips.size(); ++i) {
      const Rect& a = strips[i];
      EXPECT_NEAR(a.w * a.h, shares[i], 1e-9);
      EXPECT_GE(a.x, -1e-9);
      EXPECT_LE(a.x + a.w, 1 + 1e-9);
      EXPECT_LE(a.y + a.h, 1 + 1e-9);
      for (std::size_t k = 0; k < i; ++k) {
        const Rect& b = strips[k];
        const double wide = std::min(a.x + a.w, b.x + b.w) - std::max(a.x, b.x);
        const double high = std::min(a.y + a.h, b.y + b.h) - std::max(a.y, b.y);
        EXPECT_FALSE(wide > 1e-9 && high > 1e-9);
      }
    }
  }
}

TEST(StripsTest, OverfullAndHostileSharesStillFit) {
  const std::vector<double> shares = {0.9, 0.9, std::nan(""), -1, 1e300, 0};
  double area = 0;
  for (const Rect& strip : layout_treemap(shares, 1)) area += strip.w * strip.h;
  EXPECT_LE(area, 1 + 1e-9);
  EXPECT_TRUE(layout_treemap({}, 1).empty());
}

TEST(StripsTest, EqualTilesAreNearlySquare) {
  for (const Rect& strip : layout_treemap(std::vector<double>(16, 1.0 / 16), 1)) EXPECT_NEAR(strip.w, strip.h, 1e-9);
}

// --- tiles

TEST(TilesTest, TheAfterPictureHasPodsOnTheirTargets) {
  const Report report = swap_report();
  const auto names = [&](bool is_after, std::size_t node) {
    std::vector<std::string> pods;
    const auto tiles = tiles_of(report, Resource::kCpu, is_after, 1);
    for (const Tile& tile : tiles[node]) pods.push_back(report.pods[tile.pod].name);
    return pods;
  };
  EXPECT_THAT(names(false, 0), testing::ElementsAre("agent-n1", "web-2", "web-1"));
  EXPECT_THAT(names(true, 0), testing::ElementsAre("agent-n1", "web-2", "quorum-1"));
  EXPECT_THAT(names(true, 1), testing::ElementsAre("agent-n2"));
  EXPECT_THAT(tile_kinds(report), AllOf(Contains(TileKind::kEmpties), Contains(TileKind::kRoom),
                                        Contains(TileKind::kHolds), Contains(TileKind::kWithNode)));
}

// --- terminal

TEST(BlocksTest, ALineForEachNodeWithItsFate) {
  const std::string text = block_picture(swap_report(), {.columns = 140});
  EXPECT_THAT(text, HasSubstr("NODES by CPU requests, before → after"));
  EXPECT_THAT(line_with(text, "n1"), AllOf(HasSubstr("100 %"), HasSubstr("78 %"), HasSubstr("▒"), HasSubstr("▓")));
  EXPECT_THAT(line_with(text, "n2"), AllOf(HasSubstr("28 %"), HasSubstr("3 %"), HasSubstr("freed")));
  EXPECT_THAT(line_with(text, "n3"), HasSubstr("AntiAffinity default/quorum-2"));
}

TEST(BlocksTest, WithoutUtf8ThereIsOnlyAscii) {
  const std::string text = block_picture(swap_report(), {.columns = 100, .has_unicode = false});
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F)) << text;
  EXPECT_THAT(line_with(text, "n2"), AllOf(HasSubstr("+"), HasSubstr("freed")));
}

TEST(BlocksTest, ColourOnlyWhenRequested) {
  EXPECT_THAT(block_picture(swap_report(), {.has_colour = false}), Not(HasSubstr("\033")));
  EXPECT_THAT(block_picture(swap_report(), {.has_colour = true}), HasSubstr("\033[32mfreed\033[0m"));
}

TEST(BlocksTest, NoLineIsWiderThanTheTerminal) {
  for (const Report& report : {swap_report(), large_report(60)}) {
    for (const std::size_t columns : {60U, 80U, 120U, 200U}) {
      for (const std::string& line : lines_of(block_picture(report, {.columns = columns})))
        EXPECT_LE(width_of(line), columns) << line;
    }
  }
}

TEST(BlocksTest, LargeClustersAreGroupedAndEveryNodeIsCounted) {
  const std::string text = block_picture(large_report(100), {.columns = 100});
  EXPECT_THAT(lines_of(text), SizeIs(testing::Le(kMaxBlockRows)));
  EXPECT_THAT(line_with(text, "50 nodes"), HasSubstr("freed"));
  int counted = 0;
  for (const std::string& line : lines_of(text)) {
    if (line.find(" nodes ") != std::string::npos) counted += std::stoi(line);
  }
  EXPECT_EQ(counted, 200);
}

TEST(BlocksTest, AnEmptyClusterHasAHeadingOnly) {
  EXPECT_THAT(lines_of(block_picture(report_of(ClusterBuilder(), {}), {})), SizeIs(3));
}

// --- SVG and page

TEST(SvgTest, HasBothStatesTheBoundAndTheHeldNodes) {
  const std::string svg = svg_picture(swap_report());
  for (const char* part :
       {">Before<", ">After<", "at most 1 could be", ">freed<", "AntiAffinity: 2 of 3 refuse", "Nodes by requested CPU",
        "prefers-color-scheme:dark", "moves from n2 to n1 in wave 2: because"})
    EXPECT_THAT(svg, HasSubstr(part));
}

TEST(SvgTest, ManyPodsAreDrawnTogether) {
  const std::string svg = svg_picture(large_report(2000));
  EXPECT_THAT(svg, HasSubstr("<path class=\"empties\""));
  EXPECT_LT(svg.size(), 4U << 20U);
}

TEST(SvgTest, TextIsTruncatedToItsRectangle) {
  EXPECT_EQ(clip_to("node-0001", 100, 10), "node-0001");
  EXPECT_EQ(clip_to("node-0001-in-a-long-name", 57, 10), "node-0001…");
  EXPECT_EQ(clip_to("node", 3, 10), "");
}

TEST(HtmlTest, ThePageHasTheDataAndASummaryWithoutScripts) {
  const std::string page = html_page(swap_report());
  EXPECT_THAT(page, HasSubstr("<noscript>"));
  EXPECT_THAT(page, HasSubstr("at most 1 could be"));
  EXPECT_THAT(page, HasSubstr("\"quorum-1\""));
  EXPECT_THAT(page, HasSubstr("<title>Evacuator: defragment</title>"));
}

}  // namespace picture_test
}  // namespace report
