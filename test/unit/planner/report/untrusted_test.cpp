// Names, labels and messages come from a cluster's tenants. Every output format must render them as text only.

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/base64.hpp"
#include "planner/report/embedded_viewer.hpp"
#include "planner/report/html.hpp"
#include "planner/report/picture/blocks.hpp"
#include "planner/report/picture/svg.hpp"
#include "planner/report/plain_text.hpp"
#include "test/unit/planner/report/report_fixture.hpp"

namespace report {
namespace untrusted_test {

using namespace reporting_test;
using testing::HasSubstr;
using testing::Not;

/// Report in which every text is hostile.
Report hostile_report() {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder(kHostile)).add(NodeBuilder("n2"));
  cluster.add(PodBuilder(kHostile).ns(kHostile).on(kHostile).owned_by(kHostile, kHostile).cpu(1000));
  planner::Plan plan;
  plan.moves = {planned(kHostile, kHostile, "n2")};
  plan.moves[0].ns = plan.moves[0].strategy = plan.moves[0].reason = kHostile;
  plan.refused = {{kHostile, 1}};
  plan.warnings = {{kHostile, kHostile}};
  planner::StrategyResult& result = plan.strategies.emplace_back();
  result.strategy = result.problem = kHostile;
  result.emptying =
      strategies::EmptyingReport{1, 0, 0, kHostile, kHostile, {{"n2", kHostile, kHostile, kHostile, kHostile}}};
  return report_of(cluster, plan, kHostile);
}

bool has_control(std::string_view text, std::string_view allowed) {
  while (!text.empty()) {
    const char32_t c = take_character(text);
    const bool is_allowed = c < 0x80 && allowed.find(static_cast<char>(c)) != std::string_view::npos;
    if ((c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x2028 && c <= 0x202E)) && !is_allowed) return true;
  }
  return false;
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto from = text.find(begin);
  if (from == std::string::npos) return "";
  const auto to = text.find(end, from + begin.size());
  return text.substr(from + begin.size(), to - from - begin.size());
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

struct TextCase {
  const char* name;
  std::string in;
  std::string out;
};

TEST(PlainTextTest, ReplacesControlCharactersAndInvalidText) {
  const std::vector<TextCase> cases = {
      {"ordinary", "web-1 äöü 日本 😀", "web-1 äöü 日本 😀"},
      {"terminal escape", "a\x1b[31mb\x07", "a [31mb "},
      {"lines and tabs", "a\nb\tc\rd", "a b c d"},
      {"C1 control",
       "a\xc2\x9b"
       "31m",
       "a 31m"},
      {"line separators",
       "a\xe2\x80\xa8"
       "b\xe2\x80\xa9",
       "a b "},
      {"right to left override",
       "a\xe2\x80\xae"
       "b",
       "a b"},
      {"zero width",
       "a\xe2\x80\x8b"
       "b\xef\xbb\xbf",
       "a b "},
      {"lone byte",
       "a\xff"
       "b",
       "a\xef\xbf\xbd"
       "b"},
      {"cut character", "a\xe2\x82", "a\xef\xbf\xbd\xef\xbf\xbd"},
      {"overlong slash", "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"surrogate", "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
      {"noncharacter", "\xef\xbf\xbf", "\xef\xbf\xbd"},
      {"nothing", "", ""},
  };
  for (const TextCase& each : cases) EXPECT_EQ(plain_text(each.in), each.out) << each.name;
}

TEST(PlainTextTest, CutsLongTextAtACharacter) {
  EXPECT_EQ(plain_text("abcdef", 3), "abc…");
  EXPECT_EQ(plain_text("aäb", 2), "a…");
  EXPECT_EQ(plain_text("abc", 3), "abc");
  EXPECT_EQ(plain_text(std::string(1 << 20, 'x')).size(), kMaxText + 3);
}

TEST(PlainTextTest, MarkupIsEscaped) {
  EXPECT_EQ(escape_markup("<a b=\"c\" d='e'>&"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
}

TEST(PlainTextTest, JsonForHtmlParsesToTheSameValue) {
  const std::string text = "</script><!-- & \xe2\x80\xa8\xe2\x80\xa9 \"quoted\\\"";
  const std::string escaped = escape_json_for_html(nlohmann::json(text).dump());
  for (const char* forbidden : {"<", ">", "&", "\xe2\x80\xa8", "\xe2\x80\xa9"})
    EXPECT_THAT(escaped, Not(HasSubstr(forbidden)));
  EXPECT_EQ(nlohmann::json::parse(escaped).get<std::string>(), text);
}

TEST(UntrustedHtmlTest, NoTextEndsTheDataOrBeginsAScript) {
  const std::string page = html_page(hostile_report());
  EXPECT_EQ(count(page, "<script"), 2U);
  EXPECT_EQ(count(page, "</script"), 2U);
  EXPECT_EQ(count(page, "<!--"), 0U);
  const std::string data = between(page, "id=\"data\">", "</script>");
  EXPECT_THAT(data, Not(HasSubstr("<")));
  EXPECT_FALSE(has_control(data, ""));
  const auto json = nlohmann::json::parse(data);
  EXPECT_EQ(json["pods"]["name"][0].get<std::string>(), plain_text(kHostile));
  EXPECT_EQ(json["policy"].get<std::string>(), plain_text(kHostile));
}

TEST(UntrustedHtmlTest, ThePolicyAllowsTheViewerAndNothingElse) {
  const std::string page = html_page(swap_report());
  const std::string policy = between(page, "Content-Security-Policy\" content=\"", "\">");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  for (const char* lax : {"unsafe", "http", "data:", "*", "self"}) EXPECT_THAT(policy, Not(HasSubstr(lax)));
  // The policy must precede everything that it restricts.
  EXPECT_LT(page.find("Content-Security-Policy"), page.find("<style"));
  EXPECT_LT(page.find("Content-Security-Policy"), page.find("<script"));
  EXPECT_TRUE(between(page, "data-from=\"data\">", "</script>") == viewer_script());
  EXPECT_TRUE(between(page, "<style>", "</style>") == viewer_style());
}

TEST(UntrustedHtmlTest, TheViewerCannotEndItsOwnElement) {
  EXPECT_EQ(count(viewer_script(), "</script"), 0U);
  EXPECT_EQ(count(viewer_script(), "<!--"), 0U);
  EXPECT_EQ(count(viewer_style(), "</style"), 0U);
}

TEST(EmbeddedViewerTest, IsTheCommittedBundleToTheByte) {
  const auto file = [](const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(EVACUATOR_SOURCE_DIR "/" + path, std::ios::binary).rdbuf();
    return text.str();
  };
  // EXPECT_EQ would print both files.
  EXPECT_TRUE(viewer_script() == file("dashboard/dist/viewer.js"));
  EXPECT_TRUE(viewer_style() == file("dashboard/dist/viewer.css"));
  EXPECT_FALSE(viewer_script().empty());
}

/// Checks what our own output can get wrong: tags balance, and every "&" begins an entity.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const auto end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(tag.front() == '/' ? 1 : 0, tag.find_first_of(" />", 1) - (tag.front() == '/'));
    if (tag.front() == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), tag.substr(1));
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
  for (std::size_t at = svg.find('&'); at != std::string::npos; at = svg.find('&', at + 1))
    EXPECT_LT(svg.find(';', at) - at, 7U) << svg.substr(at, 20);
}

TEST(UntrustedSvgTest, AllTextIsEscaped) {
  const std::string svg = svg_picture(hostile_report());
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, HasSubstr("&lt;/script&gt;"));
  EXPECT_FALSE(has_control(svg, "\n"));
  expect_well_formed(svg);
}

TEST(UntrustedTerminalTest, NothingSteersTheTerminal) {
  for (const bool has_unicode : {true, false}) {
    const std::string text = block_picture(hostile_report(), {.columns = 100, .has_unicode = has_unicode});
    EXPECT_FALSE(has_control(text, "\n")) << text;
  }
}

}  // namespace untrusted_test
}  // namespace report
