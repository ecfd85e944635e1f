#include "permissions_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace permissions_page_test {

using testing::HasSubstr;

std::string stored_page() {
  std::ifstream in(std::filesystem::path(EVACUATOR_SOURCE_DIR) / "docs/reference/permissions.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(PermissionsPageTest, IsCurrent) {
  EXPECT_EQ(stored_page(), api_reference::permissions_page(EVACUATOR_SOURCE_DIR)) << "run make generate";
}

TEST(PermissionsPageTest, ListsSubjectsOfEachRole) {
  const std::string page = stored_page();
  EXPECT_THAT(page, HasSubstr("| `evacuator-operator` | the operator |"));
  EXPECT_THAT(page, HasSubstr("| `evacuator-operator` | cluster | core | pods/eviction | any | create |"));
  EXPECT_THAT(page, HasSubstr("| `evacuator-view` | users with `view`"));
  EXPECT_THAT(page, HasSubstr("| `evacuator-metrics-reader` | none until you bind it |"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "| `evacuator-signing` | namespace evacuator-system | core | secrets | evacuator-signing | get, update |"));
}

}  // namespace permissions_page_test
