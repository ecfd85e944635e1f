#include "telemetry/audit/record.hpp"

#include <gmock/gmock.h>

#include "audit_fixture.hpp"

namespace record_test {

using namespace audit_test;
using testing::HasSubstr;

constexpr const char* kZeros = "0000000000000000000000000000000000000000000000000000000000000000";

// The format is part of the contract: external verifiers of a chain rely on it.
TEST(CanonicalForm, IsTheDocumentedOne) {
  audit::Record made = record("PodNominated");
  made.seq = 7;
  made.prev_hash = kZeros;
  made.detail["note"] = "says \"no\"\\\xC3\xA9\x7F";
  EXPECT_EQ(
      audit::canonical(made),
      std::string(
          R"({"seq":7,"time":"2026-11-21T12:00:00.000000Z","actor":"evacuator/replica-1","action":"PodNominated",)"
          R"("object":{"kind":"Pod","namespace":"shop","name":"web-1","uid":"7c1a8c1e"},)"
          R"("policy":{"name":"balance","generation":3},"decision":"Planned","reason":"TooOld",)"
          R"("detail":{"node":"node-a","note":"says \"no\"\\)") +
          "\xC3\xA9\x7F" + R"(","token":"u-1.1"},"prevHash":")" + kZeros + R"("})");
}

TEST(CanonicalForm, HasTheHashOfSha256sum) {
  EXPECT_EQ(crypto::sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(audit::seal(record("PodNominated"), {}).head,
            (audit::Head{1, "219e0dee70648fb3cdab78cf564aeb45e0b0d993b45e31e9e5fd741fae2d423d"}));
}

TEST(SealedLine, ReadsBackEqual) {
  const auto line = audit::seal(record("PodNominated"), {41, std::string(64, 'a')});
  const auto parsed = audit::parse_line(line.text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  audit::Record expected = record("PodNominated");
  expected.seq = 42;
  expected.prev_hash = std::string(64, 'a');
  EXPECT_EQ(parsed->record, expected);
  EXPECT_EQ(parsed->head(), line.head);
  EXPECT_TRUE(parsed->intact());
}

TEST(SealedLine, SurvivesAnyText) {
  audit::Record wild = record("X");
  wild.reason = std::string("\xFF\xC3 and \n control \x01", 18);
  wild.detail["long"] = std::string(5000, '"');
  for (int i = 0; i < 100; ++i) wild.detail["key " + std::to_string(i)] = std::string(4000, '\\');
  const auto line = audit::seal(wild, {});
  EXPECT_LT(line.text.size(), audit::kMaxLine);
  EXPECT_EQ(line.text.find('\n'), std::string::npos);
  const auto parsed = audit::parse_line(line.text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(parsed->intact());
  EXPECT_EQ(parsed->record, audit::bounded(parsed->record));
}

struct Bad {
  const char* name;
  const char* from;  ///< Replaced by `to` in a valid line
  const char* to;
  const char* complaint;
};
class BadLine : public testing::TestWithParam<Bad> {};
TEST_P(BadLine, IsNoRecord) {
  std::string text = audit::seal(record("PodNominated"), {}).text;
  const auto at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(GetParam().from).size(), GetParam().to);
  const auto parsed = audit::parse_line(text);
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message, HasSubstr(GetParam().complaint));
}
INSTANTIATE_TEST_SUITE_P(
    Record, BadLine,
    testing::Values(Bad{"WhiteSpace", R"("seq":1)", R"("seq": 1)", "canonical"},
                    Bad{"Order", R"("seq":1,"time":"2026-11-21T12:00:00.000000Z")",
                        R"("time":"2026-11-21T12:00:00.000000Z","seq":1)", "canonical"},
                    Bad{"OtherTimeSpelling", "12:00:00.000000Z", "12:00:00Z", "canonical"},
                    Bad{"Unknown", R"("seq":1)", R"("seq":1,"extra":true)", "extra: unknown field"},
                    Bad{"Missing", R"("reason":"TooOld",)", "", "canonical"},
                    Bad{"Twice", R"("reason":"TooOld",)", R"("reason":"TooOld","reason":"TooOld",)", "canonical"},
                    Bad{"SeqZero", R"("seq":1)", R"("seq":0)", "seq"},
                    Bad{"SeqText", R"("seq":1)", R"("seq":"1")", "seq"},
                    Bad{"SeqHuge", R"("seq":1)", R"("seq":9223372036854775807)", "seq"},
                    Bad{"NoTime", "2026-11-21T12:00:00.000000Z", "yesterday", "time"},
                    Bad{"DetailOfNumbers", R"("node":"node-a")", R"("node":1)", "detail"},
                    Bad{"EscapedSlash", "evacuator/replica", R"(evacuator\/replica)", "canonical"},
                    Bad{"Torn", R"(,"prevHash")", "", ""}, Bad{"NoObject", "{", "", ""}),
    [](const auto& test) { return test.param.name; });

TEST(BadLineOfAnySize, IsNoRecord) {
  for (const std::string& text : {std::string(), std::string("null"), std::string("[]"), std::string(70'000, 'x'),
                                  std::string(1000, '['), std::string("{\"seq\":1}")}) {
    EXPECT_FALSE(audit::parse_line(text)) << text.substr(0, 20);
  }
}

}  // namespace record_test
