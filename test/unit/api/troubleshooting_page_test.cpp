#include "troubleshooting_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "api/vocabulary/blockers.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/events.hpp"
#include "api/vocabulary/reasons.hpp"

namespace troubleshooting_page_test {

using testing::HasSubstr;

std::string stored_page() {
  std::ifstream in(std::filesystem::path(EVACUATOR_SOURCE_DIR) / "docs/troubleshooting.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(TroubleshootingPageTest, IsCurrent) {
  EXPECT_EQ(stored_page(), api_reference::troubleshooting_page()) << "run make generate";
}

TEST(TroubleshootingPageTest, ExplainsEveryWord) {
  const std::string page = stored_page();
  const auto expect_all = [&](std::string_view section, const auto table) {
    const auto at = page.find(section);
    ASSERT_NE(at, std::string::npos) << section;
    for (const auto& term : table) {
      EXPECT_THAT(page.substr(at), HasSubstr("| `" + std::string(term.name) + "` | ")) << section;
      EXPECT_THAT(page.substr(at), HasSubstr(std::string(term.meaning))) << section;
    }
  };
  expect_all("## BLOCKED-BY", api::blocker_kinds());
  expect_all("### Limits", api::limit_scopes());
  expect_all("## Condition reasons", api::reasons());
  expect_all("### Conditions", api::condition_types());
  expect_all("## Event reasons", api::event_reasons());
}

}  // namespace troubleshooting_page_test
