#include "api/core/kinds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/json/field_path.hpp"
#include "api/meta/names.hpp"
#include "api/meta/well_known.hpp"

namespace core_test {

using api::SelectorOperator;
using api::TaintEffect;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

struct RequirementCase {
  std::string name;
  SelectorOperator op;
  std::vector<std::string> values;
  std::optional<std::string> label;
  bool matches;
};

class SelectorRequirementTest : public testing::TestWithParam<RequirementCase> {};

TEST_P(SelectorRequirementTest, MatchesLikeKubernetes) {
  const RequirementCase& c = GetParam();
  const api::StringMap labels =
      c.label ? api::StringMap{{"other", "1"}, {"key", *c.label}} : api::StringMap{{"other", "1"}};
  EXPECT_EQ((api::SelectorRequirement{"key", c.op, c.values}.matches(labels)), c.matches);
}

INSTANTIATE_TEST_SUITE_P(
    Selector, SelectorRequirementTest,
    testing::Values(RequirementCase{"InListed", SelectorOperator::kIn, {"a", "b"}, "b", true},
                    RequirementCase{"InNotListed", SelectorOperator::kIn, {"a", "b"}, "c", false},
                    RequirementCase{"InAbsent", SelectorOperator::kIn, {"a"}, std::nullopt, false},
                    RequirementCase{"InOfNothing", SelectorOperator::kIn, {}, "a", false},
                    RequirementCase{"NotInListed", SelectorOperator::kNotIn, {"a"}, "a", false},
                    RequirementCase{"NotInOther", SelectorOperator::kNotIn, {"a"}, "b", true},
                    RequirementCase{"NotInAbsent", SelectorOperator::kNotIn, {"a"}, std::nullopt, true},
                    RequirementCase{"NotInOfNothing", SelectorOperator::kNotIn, {}, "a", false},
                    RequirementCase{"ExistsWithValues", SelectorOperator::kExists, {"a"}, "a", false},
                    RequirementCase{"DoesNotExistWithValues", SelectorOperator::kDoesNotExist, {"a"}, {}, false},
                    RequirementCase{"ExistsEmpty", SelectorOperator::kExists, {}, "", true},
                    RequirementCase{"ExistsAbsent", SelectorOperator::kExists, {}, std::nullopt, false},
                    RequirementCase{"DoesNotExistAbsent", SelectorOperator::kDoesNotExist, {}, std::nullopt, true},
                    RequirementCase{"DoesNotExistPresent", SelectorOperator::kDoesNotExist, {}, "", false},
                    RequirementCase{"GtAbove", SelectorOperator::kGt, {"4"}, "10", true},
                    RequirementCase{"GtEqual", SelectorOperator::kGt, {"4"}, "4", false},
                    RequirementCase{"GtNegative", SelectorOperator::kGt, {"-3"}, "-2", true},
                    RequirementCase{"GtNoNumber", SelectorOperator::kGt, {"4"}, "ten", false},
                    RequirementCase{"GtHalfANumber", SelectorOperator::kGt, {"4"}, "10x", false},
                    RequirementCase{"GtOverflow", SelectorOperator::kGt, {"4"}, "99999999999999999999", false},
                    RequirementCase{"GtTwoValues", SelectorOperator::kGt, {"4", "5"}, "10", false},
                    RequirementCase{"GtAbsent", SelectorOperator::kGt, {"4"}, std::nullopt, false},
                    RequirementCase{"GtPlus", SelectorOperator::kGt, {"+4"}, "+5", true},
                    RequirementCase{"GtTwoSigns", SelectorOperator::kGt, {"+-4"}, "5", false},
                    RequirementCase{"LtBelow", SelectorOperator::kLt, {"4"}, "3", true},
                    RequirementCase{"LtAbove", SelectorOperator::kLt, {"4"}, "5", false}),
    [](const auto& test) { return test.param.name; });

struct WellFormedCase {
  std::string name;
  api::SelectorRequirement requirement;
  bool is_well_formed;
};

class WellFormedSelectorTest : public testing::TestWithParam<WellFormedCase> {};

TEST_P(WellFormedSelectorTest, IsWhatTheApiServerAccepts) {
  const auto& [name, requirement, is_well_formed] = GetParam();
  EXPECT_EQ((api::LabelSelector{{{"a", SelectorOperator::kExists, {}}, requirement}}.is_well_formed()), is_well_formed);
}

INSTANTIATE_TEST_SUITE_P(Selector, WellFormedSelectorTest,
                         testing::Values(WellFormedCase{"In", {"k", SelectorOperator::kIn, {"v"}}, true},
                                         WellFormedCase{"InOfNothing", {"k", SelectorOperator::kIn, {}}, false},
                                         WellFormedCase{"NotInOfNothing", {"k", SelectorOperator::kNotIn, {}}, false},
                                         WellFormedCase{
                                             "ExistsWithValues", {"k", SelectorOperator::kExists, {"v"}}, false},
                                         WellFormedCase{"GtIsForNodes", {"k", SelectorOperator::kGt, {"1"}}, false},
                                         WellFormedCase{"LtIsForNodes", {"k", SelectorOperator::kLt, {"1"}}, false}),
                         [](const auto& test) { return test.param.name; });

TEST(PodDisruptionBudgetTest, CoversNoPodWithAnInvalidSelector) {
  api::Pod pod;
  pod.meta.labels = {{"a", "b"}};
  api::PodDisruptionBudget pdb;
  pdb.selector = api::LabelSelector{{{"a", SelectorOperator::kNotIn, {}}}};
  EXPECT_FALSE(pdb.covers(pod));
  pdb.selector = api::LabelSelector{{{"a", SelectorOperator::kNotIn, {"c"}}}};
  EXPECT_TRUE(pdb.covers(pod));
}

TEST(LabelSelectorTest, NeedsAllRequirements) {
  const api::LabelSelector selector{{{"a", SelectorOperator::kIn, {"1"}}, {"b", SelectorOperator::kExists, {}}}};
  EXPECT_TRUE(selector.matches({{"a", "1"}, {"b", ""}}));
  EXPECT_FALSE(selector.matches({{"a", "1"}}));
  EXPECT_TRUE(api::LabelSelector{}.matches({}));
}

struct TolerationCase {
  std::string name;
  api::Toleration toleration;
  bool tolerates;
};

class TolerationTest : public testing::TestWithParam<TolerationCase> {};

TEST_P(TolerationTest, ToleratesTheTaintKeyValueNoSchedule) {
  const auto& [name, toleration, tolerates] = GetParam();
  EXPECT_EQ(toleration.tolerates({"key", "value", TaintEffect::kNoSchedule}), tolerates);
}

INSTANTIATE_TEST_SUITE_P(
    Core, TolerationTest,
    testing::Values(TolerationCase{"EqualAll", {"key", false, "value", TaintEffect::kNoSchedule, {}}, true},
                    TolerationCase{"EqualAnyEffect", {"key", false, "value", {}, {}}, true},
                    TolerationCase{"OtherValue", {"key", false, "x", {}, {}}, false},
                    TolerationCase{"OtherKey", {"x", false, "value", {}, {}}, false},
                    TolerationCase{"OtherEffect", {"key", false, "value", TaintEffect::kNoExecute, {}}, false},
                    TolerationCase{"ExistsIgnoresValue", {"key", true, "", {}, {}}, true},
                    TolerationCase{"EmptyKeyExists", {"", true, "", {}, {}}, true},
                    TolerationCase{"EmptyKeyExistsOtherEffect", {"", true, "", TaintEffect::kNoExecute, {}}, false},
                    TolerationCase{"ExistsOtherKey", {"x", true, "", {}, {}}, false},
                    TolerationCase{
                        "UnknownOperatorNever", {"key", true, "", {}, {}, api::TolerationComparison::kNever}, false}),
    [](const auto& test) { return test.param.name; });

struct ComparisonCase {
  std::string name;
  std::string taint;
  std::string toleration;
  bool less;
  bool greater;
};

class TolerationComparisonTest : public testing::TestWithParam<ComparisonCase> {};

TEST_P(TolerationComparisonTest, ComparesWholeNumbers) {
  const auto& [name, taint, value, less, greater] = GetParam();
  api::Toleration toleration{"key", false, value, {}, {}, api::TolerationComparison::kLessThan};
  EXPECT_EQ(toleration.tolerates({"key", taint, TaintEffect::kNoSchedule}), less);
  toleration.comparison = api::TolerationComparison::kGreaterThan;
  EXPECT_EQ(toleration.tolerates({"key", taint, TaintEffect::kNoSchedule}), greater);
}

INSTANTIATE_TEST_SUITE_P(Core, TolerationComparisonTest,
                         testing::Values(ComparisonCase{"Below", "4", "5", true, false},
                                         ComparisonCase{"Above", "6", "5", false, true},
                                         ComparisonCase{"Equal", "5", "5", false, false},
                                         ComparisonCase{"Negative", "-6", "-5", true, false},
                                         ComparisonCase{"LeadingZero", "04", "5", false, false},
                                         ComparisonCase{"Plus", "+4", "5", false, false},
                                         ComparisonCase{"NoNumber", "x", "5", false, false},
                                         ComparisonCase{"TooLarge", "4", "9223372036854775808", false, false}),
                         [](const auto& test) { return test.param.name; });

TEST(ResourceListTest, KeepsOrderWhileAdding) {
  api::ResourceList resources;
  api::add_amount(resources, "memory", api::Quantity::from_units(1));
  api::add_amount(resources, "cpu", api::Quantity::from_units(2));
  api::add_amount(resources, "memory", api::Quantity::from_units(3));
  EXPECT_THAT(resources,
              ElementsAre(Pair("cpu", api::Quantity::from_units(2)), Pair("memory", api::Quantity::from_units(4))));
  EXPECT_EQ(api::amount_of(resources, "memory"), api::Quantity::from_units(4));
  EXPECT_EQ(api::amount_of(resources, "gpu"), api::Quantity());
}

TEST(PodTest, ClassifiesItself) {
  api::Pod pod;
  EXPECT_FALSE(pod.is_ready() || pod.is_mirror() || pod.is_daemon_set() || pod.is_terminal());
  pod.conditions.push_back({"Ready", api::ConditionStatus::kTrue, "", "", 0, {}});
  pod.meta.annotations = pod.meta.annotations.with(api::well_known::kMirrorAnnotation, "x");
  pod.meta.owner_references.push_back({"apps/v1", "DaemonSet", "d", "u", true});
  pod.phase = api::PodPhase::kFailed;
  EXPECT_TRUE(pod.is_ready() && pod.is_mirror() && pod.is_daemon_set() && pod.is_terminal());
  EXPECT_EQ(api::to_string(pod.phase), "Failed");
}

TEST(ConditionTest, MovesTheTransitionTimeOnlyWhenTheStatusFlips) {
  const base::TimePoint noon = base::parse_time("2026-11-21T12:00:00Z").value();
  std::vector<api::Condition> conditions;
  const api::Condition ready{"Ready", api::ConditionStatus::kTrue, "Fine", "", 1, {}};
  EXPECT_TRUE(api::set_condition(conditions, ready, noon));
  EXPECT_FALSE(api::set_condition(conditions, ready, noon + base::seconds(9))) << "nothing changed, nothing to write";
  api::Condition changed = ready;
  changed.message = "still";
  EXPECT_TRUE(api::set_condition(conditions, changed, noon + base::seconds(10)));
  EXPECT_EQ(conditions.at(0).last_transition_time, noon);
  changed.status = api::ConditionStatus::kFalse;
  EXPECT_TRUE(api::set_condition(conditions, changed, noon + base::seconds(20)));
  EXPECT_EQ(conditions.at(0).last_transition_time, noon + base::seconds(20));
  EXPECT_FALSE(api::is_true(conditions, "Ready"));
  EXPECT_EQ(api::find_condition(conditions, "Other"), nullptr);
  EXPECT_FALSE(api::is_true(conditions, "Other"));
}

TEST(FieldPathTest, WritesPaths) {
  const api::FieldPath path = api::FieldPath().field("spec").field("strategies").index(1).field("args").key("a/b");
  EXPECT_EQ(path.text(), "spec.strategies[1].args[a/b]");
}

TEST(FieldErrorsTest, JoinsThemUpToFifty) {
  EXPECT_EQ(api::to_error({{"a", "x"}, {"b", "y"}}).message, "a: x; b: y");
  const api::FieldErrors many(60, {"a", "x"});
  EXPECT_THAT(api::to_error(many).message, HasSubstr("; and 10 more"));
}

struct NameCase {
  std::string name;
  std::string text;
  bool subdomain;
  bool label;
  bool qualified;
  bool value;
};

class NamesTest : public testing::TestWithParam<NameCase> {};

TEST_P(NamesTest, FollowsTheRulesOfKubernetes) {
  const NameCase& c = GetParam();
  EXPECT_EQ(api::is_dns_subdomain(c.text), c.subdomain);
  EXPECT_EQ(api::is_dns_label(c.text), c.label);
  EXPECT_EQ(api::is_qualified_name(c.text), c.qualified);
  EXPECT_EQ(api::is_label_value(c.text), c.value);
}

INSTANTIATE_TEST_SUITE_P(Names, NamesTest,
                         testing::Values(NameCase{"Plain", "web-1", true, true, true, true},
                                         NameCase{"Empty", "", false, false, false, true},
                                         NameCase{"Dotted", "a.b", true, false, true, true},
                                         NameCase{"Upper", "Web", false, false, true, true},
                                         NameCase{"Underscore", "a_b", false, false, true, true},
                                         NameCase{"DashEnd", "a-", false, false, false, false},
                                         NameCase{"DotEnd", "a.", false, false, false, false},
                                         NameCase{"Prefixed", "example.com/a", false, false, true, false},
                                         NameCase{"BadPrefix", "Example/a", false, false, false, false},
                                         NameCase{"TwoSlashes", "a/b/c", false, false, false, false},
                                         NameCase{"Blank", "a b", false, false, false, false},
                                         NameCase{"SixtyThree", std::string(63, 'a'), true, true, true, true},
                                         NameCase{"SixtyFour", std::string(64, 'a'), true, false, false, false},
                                         NameCase{"TooLong", std::string(254, 'a'), false, false, false, false}),
                         [](const auto& test) { return test.param.name; });

TEST(NamesTest, MeasuresDistance) {
  EXPECT_EQ(api::edit_distance("mode", "mode"), 0U);
  EXPECT_EQ(api::edit_distance("", "abc"), 3U);
  EXPECT_EQ(api::edit_distance("suspnd", "suspend"), 1U);
  EXPECT_EQ(api::edit_distance("kitten", "sitting"), 3U);
}

TEST(NamesTest, CountsCharactersNotBytes) { EXPECT_EQ(api::length_in_characters("\u00fc\u20ac\U0001F600"), 3U); }

}  // namespace core_test
