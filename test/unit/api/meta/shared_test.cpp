#include "api/meta/shared.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace shared_test {

using List = api::SharedList<std::string>;

List shared(std::vector<std::string> items, std::size_t hash = 7) {
  List list(std::move(items));
  list.share(hash);
  return list;
}

TEST(Shared, EqualValuesAreShared) {
  const List one = shared({"a", "b"});
  const List same = shared({"a", "b"});
  const List other = shared({"a", "c"});
  EXPECT_EQ(one.address(), same.address());
  EXPECT_NE(one.address(), other.address()) << "their hashes are alike, they are not";
  EXPECT_EQ(other.get(), (std::vector<std::string>{"a", "c"}));
}

TEST(Shared, OfDifferentTypesAreNotShared) {
  const api::SharedList<std::int64_t> numbers = [] {
    api::SharedList<std::int64_t> list({1});
    list.share(7);
    return list;
  }();
  EXPECT_NE(shared({"1"}).address(), numbers.address());
}

TEST(Shared, ACopyIsFreeAndAnEditCopiesTheValue) {
  const List one = shared({"a"});
  List copy = one;
  EXPECT_EQ(copy.address(), one.address());
  copy.push_back("b");
  EXPECT_EQ(copy.get(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(one.get(), (std::vector<std::string>{"a"}));
  EXPECT_EQ(shared({"a"}).address(), one.address());
}

TEST(Shared, BeforeSharingItIsAnOrdinaryValue) {
  List one({"a"});
  const List copy = one;
  std::string& first = one[0];
  std::string& second = (one.push_back("b"), one[1]);
  one[0] = "z";
  EXPECT_EQ(&second, &one[1]) << "it moves no more than a vector";
  EXPECT_EQ(one.get(), (std::vector<std::string>{"z", "b"}));
  EXPECT_EQ(copy.get(), (std::vector<std::string>{"a"}));
  (void)first;
}

TEST(Shared, NonConstIteratorsBelongTogether) {
  List one = shared({"a", "b", "c"});
  for (std::string& each : one) each += "!";
  EXPECT_EQ(one.get(), (std::vector<std::string>{"a!", "b!", "c!"}));
  EXPECT_EQ(shared({"a", "b", "c"}).get(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Shared, AnEmptyListTakesNoMemory) {
  List edited;
  edited.edit();
  edited.share(7);
  EXPECT_EQ(edited.address(), nullptr);
  EXPECT_EQ(List(std::vector<std::string>()).address(), nullptr);
  EXPECT_TRUE(edited.empty());
}

TEST(Shared, ValuesAreFreedWithTheirLastUser) {
  std::weak_ptr<int> witness;
  const auto make = [](std::shared_ptr<int> item) {
    api::SharedList<std::shared_ptr<int>> list({std::move(item)});
    list.share(7);
    return list;
  };
  {
    auto item = std::make_shared<int>(1);
    witness = item;
    const auto one = make(item);
    const auto same = make(std::move(item));
    EXPECT_EQ(one.address(), same.address());
  }
  EXPECT_TRUE(witness.expired());
}

TEST(Shared, ManyWithOneHashKeepTheirValues) {
  std::vector<List> all;
  for (int i = 0; i < 1000; ++i) all.push_back(shared({std::to_string(i)}, 3));
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].get().front(), std::to_string(i));
}

TEST(Shared, ThreadsMayShareAndLeaveAtOnce) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 20'000; ++i) {
        const std::string text = std::to_string(i % 5);
        const List one = shared({text}, static_cast<std::size_t>(i % 5));
        ASSERT_EQ(List(one).get().front(), text);
      }
    });
  }
}

TEST(SharedText, IsAText) {
  api::SharedText text = "Burstable";
  text.share();
  api::SharedText same = std::string("Burstable");
  same.share();
  EXPECT_EQ(text.address(), same.address());
  EXPECT_EQ(text, "Burstable");
  EXPECT_NE(text, "BestEffort");
  EXPECT_TRUE(api::SharedText().empty());
}

}  // namespace shared_test
