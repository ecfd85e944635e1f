#include "api/meta/label_value.hpp"

#include <gtest/gtest.h>

namespace api {
namespace {

TEST(LabelValue, IsTheNameIfItFits) {
  EXPECT_EQ(label_value("balance"), "balance");
  EXPECT_EQ(label_value(std::string(63, 'a')), std::string(63, 'a'));
}

TEST(LabelValue, OfALongNameFitsAndIsDistinct) {
  const std::string one = label_value(std::string(253, 'a'));
  const std::string other = label_value(std::string(252, 'a') + "b");
  EXPECT_EQ(one.size(), kMaxLabelValue);
  EXPECT_EQ(other.size(), kMaxLabelValue);
  EXPECT_NE(one, other);
  EXPECT_EQ(one.substr(0, 53), std::string(52, 'a') + "-");
}

/// Golden value: labels written by an earlier version must be found.
TEST(LabelValue, IsTheSameInEveryVersion) {
  EXPECT_EQ(label_value("node-with-a-very-long-name.region-one.compute.internal.example.com"),
            "node-with-a-very-long-name.region-one.compute.intern-74199eec79");
}

}  // namespace
}  // namespace api
