#include "api/meta/quantity.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace quantity_test {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

struct ParseCase {
  std::string name;
  std::string text;
  std::optional<std::int64_t> milli;
};

class QuantityParseTest : public testing::TestWithParam<ParseCase> {};

TEST_P(QuantityParseTest, GivesThousandths) {
  const auto& [name, text, milli] = GetParam();
  const auto quantity = api::Quantity::parse(text);
  ASSERT_EQ(quantity.has_value(), milli.has_value()) << text;
  if (milli) {
    EXPECT_EQ(quantity->milli(), *milli) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Quantity, QuantityParseTest,
    testing::Values(
        ParseCase{"Zero", "0", 0}, ParseCase{"Units", "3", 3000}, ParseCase{"Milli", "100m", 100},
        ParseCase{"Fraction", "1.5", 1500}, ParseCase{"LeadingPoint", ".5", 500},
        ParseCase{"TrailingPoint", "5.", 5000}, ParseCase{"LeadingZeros", "0001.500", 1500},
        ParseCase{"Plus", "+2", 2000}, ParseCase{"Minus", "-250m", -250}, ParseCase{"Kilo", "2k", 2'000'000},
        ParseCase{"Mega", "2M", 2'000'000'000}, ParseCase{"Giga", "1G", 1'000'000'000'000},
        ParseCase{"Tera", "1T", 1'000'000'000'000'000}, ParseCase{"Peta", "1P", 1'000'000'000'000'000'000},
        ParseCase{"ExaSaturates", "1E", kMax}, ParseCase{"Kibi", "1Ki", 1'024'000},
        ParseCase{"Mebi", "1Mi", 1'048'576'000}, ParseCase{"Gibi", "16Gi", 17'179'869'184'000},
        ParseCase{"Tebi", "1Ti", 1'099'511'627'776'000}, ParseCase{"Pebi", "1Pi", 1'125'899'906'842'624'000},
        ParseCase{"ExbiSaturates", "1Ei", kMax}, ParseCase{"HalfAGibi", "0.5Gi", 536'870'912'000},
        ParseCase{"ATenthOfAKibi", "0.1Ki", 102'400}, ParseCase{"NegativeKibi", "-5Ki", -5'120'000},
        ParseCase{"Exponent", "1e3", 1'000'000}, ParseCase{"CapitalExponent", "12E2", 1'200'000},
        ParseCase{"NegativeExponent", "1500e-3", 1500}, ParseCase{"PlusExponent", "1e+2", 100'000},
        ParseCase{"NanoRoundsUp", "1n", 1}, ParseCase{"MicroRoundsUp", "1500u", 2}, ParseCase{"ExactMicro", "2000u", 2},
        ParseCase{"BelowMilliRoundsUp", "0.0001", 1}, ParseCase{"JustAboveRoundsUp", "1.0001", 1001},
        ParseCase{"NegativeRoundsAway", "-0.0001", -1}, ParseCase{"ZeroNano", "0n", 0},
        ParseCase{"TinyBinaryFraction", "0.00000000000000000001Ki", 1},
        ParseCase{"HugeSaturates", "99999999999999999999999999", kMax}, ParseCase{"HugeExponent", "1e999999999", kMax},
        ParseCase{"HugeNegativeExponent", "1e-999999999", 1}, ParseCase{"ZeroHugeExponent", "0e999", 0},
        ParseCase{"NegativeHuge", "-1e50", -kMax}, ParseCase{"Empty", "", std::nullopt},
        ParseCase{"OnlySign", "-", std::nullopt}, ParseCase{"OnlySuffix", "Mi", std::nullopt},
        ParseCase{"OnlyPoint", ".", std::nullopt}, ParseCase{"TwoPoints", "1.2.3", std::nullopt},
        ParseCase{"TwoSigns", "--1", std::nullopt}, ParseCase{"UnknownSuffix", "1Q", std::nullopt},
        ParseCase{"LowerCaseBinary", "1ki", std::nullopt}, ParseCase{"UpperCaseKilo", "1K", std::nullopt},
        ParseCase{"Blank", "1 Gi", std::nullopt}, ParseCase{"EmptyExponent", "1e", std::nullopt},
        ParseCase{"SignedEmptyExponent", "1e-", std::nullopt}, ParseCase{"ExponentAndSuffix", "1e3Mi", std::nullopt},
        ParseCase{"Word", "lots", std::nullopt}, ParseCase{"TooLong", std::string(300, '1'), std::nullopt}),
    [](const auto& test) { return test.param.name; });

struct TextCase {
  std::string name;
  std::int64_t milli;
  std::string plain;
  std::string binary;
};

class QuantityTextTest : public testing::TestWithParam<TextCase> {};

TEST_P(QuantityTextTest, IsCanonicalAndReadsBack) {
  const auto& [name, milli, plain, binary] = GetParam();
  const auto quantity = api::Quantity::from_milli(milli);
  EXPECT_EQ(quantity.to_string(), plain);
  EXPECT_EQ(quantity.to_string(true), binary);
  EXPECT_EQ(api::Quantity::parse(plain), quantity);
  EXPECT_EQ(api::Quantity::parse(binary), quantity);
}

INSTANTIATE_TEST_SUITE_P(Quantity, QuantityTextTest,
                         testing::Values(TextCase{"Zero", 0, "0", "0"}, TextCase{"Milli", 1500, "1500m", "1500m"},
                                         TextCase{"Units", 3000, "3", "3"},
                                         TextCase{"TwoGibi", 2'147'483'648'000, "2147483648", "2Gi"},
                                         TextCase{"OddBytes", 1'025'000, "1025", "1025"},
                                         TextCase{"OneAndAHalfKibi", 1'536'000, "1536", "1536"},
                                         TextCase{"Negative", -5'120'000, "-5120", "-5Ki"}),
                         [](const auto& test) { return test.param.name; });

TEST(QuantityTest, SaturatesInsteadOfOverflowing) {
  const auto most = api::Quantity::from_milli(kMax);
  const auto least = api::Quantity::from_milli(std::numeric_limits<std::int64_t>::min());
  const auto one = api::Quantity::from_milli(1);
  EXPECT_EQ((most + one).milli(), kMax);
  EXPECT_EQ((least - one), least);
  EXPECT_EQ((least + api::Quantity::from_milli(-1)), least);
  EXPECT_EQ((most - api::Quantity::from_milli(-1)), most);
  EXPECT_EQ(api::Quantity::from_units(kMax).milli(), kMax);
  EXPECT_EQ(api::Quantity::from_units(-kMax), least);
  EXPECT_EQ(api::Quantity::from_units(7).milli(), 7000);
}

TEST(QuantityTest, AddsSubtractsAndCompares) {
  const auto a = api::Quantity::from_milli(700);
  const auto b = api::Quantity::from_milli(300);
  EXPECT_EQ((a + b), api::Quantity::from_units(1));
  EXPECT_EQ((b - a).milli(), -400);
  EXPECT_LT(b, a);
}

TEST(QuantityTest, RoundsUnitsUp) {
  EXPECT_EQ(api::Quantity::from_milli(1).units(), 1);
  EXPECT_EQ(api::Quantity::from_milli(1000).units(), 1);
  EXPECT_EQ(api::Quantity::from_milli(1001).units(), 2);
  EXPECT_EQ(api::Quantity::from_milli(-1500).units(), -1);
}

}  // namespace quantity_test
