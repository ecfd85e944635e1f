#include "cmd/input/documents.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "cmd/input/files.hpp"

namespace cmd {
namespace documents_test {

using testing::HasSubstr;

std::string names_of(const std::vector<api::Json>& documents) {
  std::string names;
  for (const api::Json& document : documents) {
    names += (names.empty() ? "" : " ") + (document.is_object() ? document.value("kind", "?") : document.dump());
  }
  return names;
}

struct TextCase {
  const char* name;
  const char* text;
  const char* kinds;  ///< kinds of the documents
};
class Texts : public testing::TestWithParam<TextCase> {};

TEST_P(Texts, AreReadAsShellsJoinThem) {
  for (const RepeatedKeys keys : {RepeatedKeys::kRefuse, RepeatedKeys::kLastWins}) {
    const auto documents = parse_documents(GetParam().text, keys);
    ASSERT_TRUE(documents) << documents.error().message;
    EXPECT_EQ(names_of(*documents), GetParam().kinds);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, Texts,
    testing::Values(
        TextCase{"Nothing", " \n\n", ""}, TextCase{"OnlyMarks", "---\n---\n", ""},
        TextCase{"OneObject", R"({"kind": "A"})", "A"}, TextCase{"ABareArray", "[1, 2]", "[1,2]"},
        TextCase{"JsonBehindJson", "{\"kind\": \"A\"}{\"kind\": \"B\"}\n\n{\n\"kind\": \"C\"\n}", "A B C"},
        TextCase{"JsonLines", "{\"kind\": \"A\"}\r\n{\"kind\": \"B\", \"text\": \"}{\\\"\"}\r\n", "A B"},
        TextCase{"JsonWithMarks", "---\n{\"kind\": \"A\"}\n---\n---\n{\"kind\": \"B\"}\n---\n", "A B"},
        TextCase{"YamlDocuments", "kind: A\n---\nkind: B\n", "A B"},
        TextCase{"YamlInBraces", "{kind: A, note: it's}\n---\n{kind: B}\n", "A B"},
        TextCase{"AListThatBeginsAtTheMargin", "---\n- {kind: A}\n- {kind: B}\n", R"([{"kind":"A"},{"kind":"B"}])"},
        TextCase{"YamlBehindYaml", "apiVersion: v1\nkind: A\napiVersion: v1\nkind: B\n---\napiVersion: v1\nkind: C\n",
                 "A B C"},
        TextCase{"YamlBehindJson", "{\"kind\": \"A\"}\napiVersion: v1\nkind: B\napiVersion: v1\nkind: C\n", "A B C"},
        TextCase{"JsonBehindYaml", "apiVersion: v1\nkind: A\n{\"kind\": \"B\"}\n{\n    \"kind\": \"C\"\n}\n", "A B C"},
        TextCase{"TextThatLooksLikeAKey", "apiVersion: v1\nkind: A\ntext: |\n  apiVersion: v1\n  kind: X\n", "A"}),
    [](const auto& test) { return std::string(test.param.name); });

struct BadText {
  const char* name;
  const char* text;
  const char* error;
};
class BadTexts : public testing::TestWithParam<BadText> {};

TEST_P(BadTexts, AreRefusedWithThePlace) {
  const auto documents = parse_documents(GetParam().text, RepeatedKeys::kRefuse);
  ASSERT_FALSE(documents);
  EXPECT_THAT(documents.error().message, HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Of, BadTexts,
    testing::Values(
        BadText{"HalfAFile", "{\"kind\": \"A\"}\n{\"kind\": \"B\", \"spec\": {",
                "the JSON that begins at line 2 is incomplete; was the file truncated?"},
        BadText{"AFault", "{\"kind\": \"A\"}\n\n{\"kind\" \"B\"}",
                "in the document that begins at line 3: not valid JSON"},
        BadText{"AKeyTwice", "{\"kind\": \"A\", \"kind\": \"B\"}", "key \"kind\" is already set"},
        BadText{"YamlInTheMiddle", "{\"kind\": \"A\"}\napiVersion: v1\nkind: [\n", "line "},
        BadText{"WhatKubectlSays", "Error from server (Forbidden): nodes is forbidden\n{\"kind\": \"A\"}",
                "line 1: not an object, but an error message of kubectl: \"Error from server (Forbidden): "
                "nodes is forbidden\"; keep standard error out of the file (no `2>&1`), and fix the error"},
        BadText{"WhatKubectlSaysLast", "{\"kind\": \"A\"}\nWarning: v1 is old\r\n",
                "line 2: not an object, but an error message of kubectl: \"Warning: v1 is old\";"},
        BadText{
            "LogsOfContainers", "{\"kind\": \"A\"}\n==== START logs for container c ====\nhello\n",
            "line 2: container logs, as `kubectl cluster-info dump` prints them; run it with --output-directory=DIR"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(BadTexts, InYamlBehindOtherThingsHaveTheirLine) {
  const auto documents =
      parse_documents("{\"kind\": \"A\"}\napiVersion: v1\nkind: A\nkind: B\n", RepeatedKeys::kRefuse);
  ASSERT_FALSE(documents);
  EXPECT_THAT(documents.error().message, HasSubstr("line 4, column 1: key \"kind\" is already set"));
}

TEST(Texts, OfManyPartsAreReadInOneGo) {
  constexpr int kParts = 50'000;  // quadratic complexity would take minutes
  std::string text;
  for (int i = 0; i < kParts; ++i) text += "apiVersion: v1\n\n\n\n";
  const auto documents = parse_documents(text, RepeatedKeys::kRefuse);
  ASSERT_TRUE(documents) << documents.error().message;
  EXPECT_EQ(documents->size(), kParts);
}

// ---------------------------------------------------------------- bytes

constexpr std::size_t kLimit = std::size_t{1} << 20;

std::string gzip(const std::string& text) {
  z_stream state{};
  deflateInit2(&state, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&state, text.size()), '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  deflate(&state, Z_FINISH);
  packed.resize(state.total_out);
  deflateEnd(&state);
  return packed;
}

TEST(TextOf, UnpacksGzipAllMembersOfIt) {
  EXPECT_EQ(*text_of(gzip("one\n") + gzip("two\n"), kLimit), "one\ntwo\n");
  const std::string large(kLimit - 1, 'x');
  EXPECT_EQ(*text_of(gzip(large), kLimit), large);
}

TEST(TextOf, RefusesGzipThatIsTooLargeOrDamaged) {
  EXPECT_THAT(text_of(gzip(std::string(kLimit + 1, 'x')), kLimit).error().message, HasSubstr("larger than 1 MiB"));
  std::string half = gzip("some text that is long enough to be cut in the middle");
  half.resize(half.size() / 2);
  EXPECT_THAT(text_of(half, kLimit).error().message, HasSubstr("unexpected end"));
  std::string damaged = gzip("some text");
  damaged[12] ^= 0x55;
  damaged[14] ^= 0x55;
  EXPECT_FALSE(text_of(damaged, kLimit));
}

TEST(TextOf, NamesArchivesWithAdvice) {
  const std::string tar = std::string(257, 'n') + "ustar";
  EXPECT_THAT(text_of(tar, kLimit).error().message, HasSubstr("is a tar archive: unpack it"));
  EXPECT_THAT(text_of(gzip(tar), kLimit).error().message, HasSubstr("is a tar archive: unpack it"));
  EXPECT_THAT(text_of("PK\x03\x04...", kLimit).error().message, HasSubstr("is a zip archive: unpack it"));
  EXPECT_THAT(text_of("\x28\xb5\x2f\xfd...", kLimit).error().message, HasSubstr("zstd -d"));
  EXPECT_THAT(text_of(std::string("\xfd") + "7zXZ...", kLimit).error().message, HasSubstr("xz -d"));
  EXPECT_THAT(text_of(std::string("a\0b", 3), kLimit).error().message, HasSubstr("is not a text file"));
}

TEST(TextOf, ReadsWindowsEncodings) {
  using namespace std::string_literals;
  EXPECT_EQ(*text_of("\xef\xbb\xbfkind: A", kLimit), "kind: A");
  EXPECT_EQ(*text_of("\xff\xfek\0\xe4\0\x3d\xd8\x00\xde"s, kLimit), "k\u00e4\U0001f600");
  EXPECT_EQ(*text_of("\xfe\xff\0k"s, kLimit), "k");
  EXPECT_THAT(text_of("\xff\xfek"s, kLimit).error().message, HasSubstr("UTF-16: invalid"));
  EXPECT_THAT(text_of("\xff\xfe\x00\xdc"s, kLimit).error().message, HasSubstr("UTF-16: invalid"));
}

}  // namespace documents_test
}  // namespace cmd
