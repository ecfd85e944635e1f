/// Enums of published words and their tables.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/vocabulary/blockers.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/events.hpp"
#include "api/vocabulary/reasons.hpp"
#include "api/wire_names.hpp"

namespace vocabulary_test {

using api::LimitScope;
using testing::EndsWith;

bool is_camel_case(std::string_view text) {
  const auto is_letter_or_digit = [](unsigned char c) { return std::isalnum(c) != 0; };
  return !text.empty() && std::isupper(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(), is_letter_or_digit);
}

/// Calls `check` for the table of every kind of word in the API.
template <typename Check>
void for_each_table(Check&& check) {
  check(api::condition_types());
  check(api::reasons());
  check(api::blocker_kinds());
  check(api::limit_scopes());
  check(api::event_reasons());
}

TEST(VocabularyTest, HasNoDuplicateWords) {
  for_each_table([](const auto table) {
    std::set<std::string_view> names;
    for (const auto& term : table) EXPECT_TRUE(names.insert(term.name).second) << term.name;
  });
}

TEST(VocabularyTest, WritesCamelCase) {
  const auto check = [](const auto table) {
    for (const auto& term : table) EXPECT_TRUE(is_camel_case(term.name)) << term.name;
  };
  check(api::condition_types());
  check(api::reasons());
  check(api::blocker_kinds());
  check(api::event_reasons());
}

TEST(VocabularyTest, DescribesEachWordAndItsField) {
  for_each_table([](const auto table) {
    for (const auto& term : table) {
      EXPECT_FALSE(term.where.empty()) << term.name;
      EXPECT_THAT(std::string(term.meaning), EndsWith(".")) << term.name;
      EXPECT_TRUE(term.remedy.empty() || term.remedy.ends_with(".")) << term.name;
    }
  });
}

TEST(VocabularyTest, HasARemedyForEveryBlocker) {
  for (const auto& term : api::blocker_kinds()) EXPECT_FALSE(term.remedy.empty()) << term.name;
  for (const auto& term : api::limit_scopes()) EXPECT_FALSE(term.remedy.empty()) << term.name;
}

TEST(VocabularyTest, RoundTrips) {
  for (const auto& term : api::condition_types())
    EXPECT_EQ(api::parse_condition_type(to_string(term.value)), term.value);
  for (const auto& term : api::reasons()) EXPECT_EQ(api::parse_reason(to_string(term.value)), term.value);
  for (const auto& term : api::blocker_kinds()) EXPECT_EQ(api::parse_blocker_kind(to_string(term.value)), term.value);
  for (const auto& term : api::limit_scopes()) EXPECT_EQ(api::parse_limit_scope(to_string(term.value)), term.value);
  for (const auto& term : api::event_reasons()) EXPECT_EQ(api::parse_event_reason(to_string(term.value)), term.value);
}

TEST(VocabularyTest, RejectsUnknownWords) {
  EXPECT_EQ(api::parse_reason("WaitingGroup"), std::nullopt) << "stood beside WaitingForGroup";
  EXPECT_EQ(api::parse_reason(""), std::nullopt);
  EXPECT_EQ(api::parse_blocker_kind("limit"), std::nullopt);
}

TEST(VocabularyTest, KeepsWordsOfOtherVersions) {
  const auto decoded = api::decode_evacuation(
      R"({"metadata":{"name":"a"},"spec":{"podRef":{"name":"web"}},"status":{"phase":"Pending","reason":"Dreaming",
          "conditions":[{"type":"Asleep","status":"True","reason":"WaitingGroup"}],
          "blockedBy":[{"kind":"Moon","name":"full"}],"abort":{"reason":"Tide","next":"Failed"}}})");
  ASSERT_TRUE(decoded) << decoded.error().message;
  const api::Json status = api::encode_status(decoded->status);
  EXPECT_EQ(status.at("reason"), "Dreaming");
  EXPECT_EQ(status.at("conditions").at(0).at("type"), "Asleep");
  EXPECT_EQ(status.at("conditions").at(0).at("reason"), "WaitingGroup");
  EXPECT_EQ(status.at("blockedBy").at(0).at("kind"), "Moon");
  EXPECT_EQ(status.at("blockedBySummary"), "moon/full");
  EXPECT_EQ(status.at("abort").at("reason"), "Tide");
}

TEST(VocabularyTest, UsesTheSameNameForAnOutcomeAndItsReason) {
  for (const auto& outcome : api::kOutcomeNames) EXPECT_TRUE(api::parse_reason(outcome.name)) << outcome.name;
}

TEST(VocabularyTest, EndsEachSuccessAndCancelWithAnEventOfTheSameName) {
  for (const auto& term : api::reasons()) {
    const bool ends =
        term.where.find("Succeeded") != term.where.npos || term.where.find("Cancelled") != term.where.npos;
    EXPECT_TRUE(!ends || api::parse_event_reason(term.name)) << term.name;
  }
}

TEST(VocabularyTest, ComparesWithTextFromTheWire) {
  EXPECT_TRUE(std::string("Evicted") == api::Reason::kEvicted);
  EXPECT_TRUE(api::Reason::kEvicted != std::string("evicted"));
  EXPECT_TRUE("Limit" == api::BlockerKind::kLimit);
  EXPECT_TRUE("SlotAcquired" == api::ConditionType::kSlotAcquired);
}

TEST(VocabularyTest, FindsTheScopeInTheNameOfALimit) {
  for (const auto& term : api::limit_scopes()) {
    EXPECT_EQ(api::scope_of_limit(api::limit_name(term.value)), term.value);
    EXPECT_EQ(api::scope_of_limit(api::limit_name(term.value, "web")), term.value);
  }
  EXPECT_EQ(api::limit_name(LimitScope::kTargetNode), "targetNode");
  EXPECT_EQ(api::limit_name(LimitScope::kNode, "node"), "policy node node");
  EXPECT_EQ(api::scope_of_limit("policy targetNode node"), LimitScope::kNode);
  EXPECT_EQ(api::scope_of_limit("audit log"), std::nullopt);
  EXPECT_EQ(api::scope_of_limit(""), std::nullopt);
}

TEST(VocabularyTest, ShortensABlockerForItsColumn) {
  EXPECT_EQ(api::column_text("PodDisruptionBudget"), "pdb");
  EXPECT_EQ(api::column_text("Limit"), "limit");
  EXPECT_EQ(api::column_text("SomethingNew"), "somethingnew");
  for (const auto& term : api::blocker_kinds()) {
    EXPECT_EQ(term.where.substr(0, term.where.find('/')), api::column_text(term.name));
  }
}

}  // namespace vocabulary_test
