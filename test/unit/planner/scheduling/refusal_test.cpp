#include "planner/scheduling/refusal.hpp"

#include <gmock/gmock.h>

namespace scheduling {
namespace refusal_test {

struct MessageCase {
  std::string name;
  Refusal refusal;
  std::string want;
};

class Message : public testing::TestWithParam<MessageCase> {};

TEST_P(Message, FillsThePlaceholders) { EXPECT_EQ(GetParam().refusal.message(), GetParam().want); }

INSTANTIATE_TEST_SUITE_P(
    Refusals, Message,
    testing::Values(MessageCase{"None", {"R", "it is already terminating"}, "it is already terminating"},
                    MessageCase{"Subject", {"R", "the taint {subject}", "a"}, "the taint a"},
                    MessageCase{"Numbers", {"R", "{available} of {wanted}", "", 3, -1}, "-1 of 3"},
                    MessageCase{"TheSameTwice", {"R", "{subject} and {subject}", "a"}, "a and a"},
                    MessageCase{"BracesInTheSubject", {"R", "the taint {subject}", "{wanted}"}, "the taint {wanted}"}),
    [](const auto& test) { return test.param.name; });

TEST(Message, NamesItsPlaceholders) {
  const Refusal refusal{"R", "{available} of {subject}"};
  EXPECT_TRUE(refusal.names("{available}"));
  EXPECT_TRUE(refusal.names("{subject}"));
  EXPECT_FALSE(refusal.names("{wanted}"));
}

}  // namespace refusal_test
}  // namespace scheduling
