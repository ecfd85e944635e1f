#include "base/text.hpp"

#include <gtest/gtest.h>

namespace text_test {

struct Case {
  const char* name;
  std::string text;
  std::size_t most;
  std::string want;
};

class ShortText : public testing::TestWithParam<Case> {};

TEST_P(ShortText, TruncatesTheAnswerOfAServer) {
  EXPECT_EQ(base::truncate_utf8(GetParam().text, GetParam().most), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Text, ShortText,
    testing::Values(Case{"Plain", "abc", 10, "abc"}, Case{"Cut", "abcdef", 3, "abc"}, Case{"Nothing", "", 3, ""},
                    Case{"NoRoom", "abc", 0, ""}, Case{"BetweenCharacters", "a\xC3\xA4\xC3\xB6", 4, "a\xC3\xA4"},
                    Case{"ThreeBytes", "\xE2\x82\xAC\xE2\x82\xAC", 5, "\xE2\x82\xAC"},
                    Case{"FourBytes", "\xF0\x9F\x98\x80x", 4, "\xF0\x9F\x98\x80"},
                    Case{"Latin1", "gr\xFC\xDF", 99, "gr\xEF\xBF\xBD\xEF\xBF\xBD"},
                    Case{"CutCharacter", "ab\xE2\x82", 99, "ab\xEF\xBF\xBD\xEF\xBF\xBD"},
                    Case{"Overlong", "\xC0\xAF", 99, "\xEF\xBF\xBD\xEF\xBF\xBD"},
                    Case{"Surrogate", "\xED\xA0\x80", 99, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
                    Case{"BeyondUnicode", "\xF4\x90\x80\x80z", 12, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
                    Case{"NulAndControls", std::string("a\0\n", 3), 99, std::string("a\0\n", 3)}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace text_test
