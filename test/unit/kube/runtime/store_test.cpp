#include "kube/runtime/store.hpp"

#include <gtest/gtest.h>

namespace store_test {

struct Thing {
  api::ObjectMeta meta;
  std::vector<std::string> colours;
};

class StoreIndex : public testing::Test {
 protected:
  StoreIndex() {
    store_.add_index("colour", [](const Thing& each) { return each.colours; });
    store_.add_index("other", [](const Thing&) { return std::vector<std::string>{"x"}; });
  }
  void put(const std::string& ns, const std::string& name, std::vector<std::string> colours,
           const std::string& version = "1") {
    Thing thing;
    thing.meta.ns = ns;
    thing.meta.name = name;
    thing.meta.resource_version = version;
    thing.colours = std::move(colours);
    store_.put(std::make_shared<const Thing>(std::move(thing)));
  }
  std::string found(std::string_view index, const std::string& value) const {
    std::string text;
    for (const auto& each : store_.by_index(index, value))
      text += each->meta.key().to_string() + "@" + each->meta.resource_version + " ";
    return text;
  }

  kube::Store<Thing> store_;
};

TEST_F(StoreIndex, FindsByValueInOrderOfNamespaceAndName) {
  put("b", "1", {"red"});
  put("a", "2", {"red", "blue"});
  put("a", "1", {"red", "red"});
  put("a", "3", {});
  EXPECT_EQ(found("colour", "red"), "a/1@1 a/2@1 b/1@1 ");
  EXPECT_EQ(found("colour", "blue"), "a/2@1 ");
  EXPECT_EQ(found("colour", "green"), "");
  EXPECT_EQ(found("shape", "red"), "");
}

TEST_F(StoreIndex, FollowsReplacedAndRemovedObjects) {
  put("a", "1", {"red"});
  put("a", "2", {"red"});
  put("a", "1", {"red", "blue"}, "2");
  EXPECT_EQ(found("colour", "red"), "a/1@2 a/2@1 ") << "the new one, not the old one";
  put("a", "1", {"blue"}, "3");
  EXPECT_EQ(found("colour", "red"), "a/2@1 ");
  EXPECT_EQ(found("colour", "blue"), "a/1@3 ");
  const auto removed = store_.remove({"a", "1"});
  ASSERT_TRUE(removed);
  EXPECT_EQ(found("colour", "blue"), "");
  EXPECT_EQ(found("other", "x"), "a/2@1 ");
  EXPECT_FALSE(store_.remove({"a", "1"}));
}

TEST_F(StoreIndex, FollowsRenewedObjectsAndKeepsTheirValues) {
  put("a", "1", {"red", "red"});
  put("a", "2", {"red"});
  put("b", "1", {"red"});
  put("a", "2", {"red"}, "2");
  put("a", "1", {"red", "red"}, "2");
  EXPECT_EQ(found("colour", "red"), "a/1@2 a/2@2 b/1@1 ");
  EXPECT_EQ(found("other", "x"), "a/1@2 a/2@2 b/1@1 ");
  EXPECT_TRUE(store_.remove({"a", "2"}));
  EXPECT_EQ(found("colour", "red"), "a/1@2 b/1@1 ");
}

TEST_F(StoreIndex, DistinguishesNamespacesFromNames) {
  put("a", "bc", {"red"});
  put("ab", "c", {"red"});
  EXPECT_EQ(found("colour", "red"), "a/bc@1 ab/c@1 ");
}

}  // namespace store_test
