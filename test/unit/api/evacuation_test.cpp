#include "api/evacuation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "api/evacuation/stored.hpp"
#include "api/json/strict_object.hpp"
#include "populated.hpp"
#include "status_patches.hpp"

namespace evacuation_test {

using api::Json;
using test_api::kEvictors;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> texts(const api::FieldErrors& errors) {
  std::vector<std::string> lines;
  for (const api::FieldError& error : errors) lines.push_back(error.to_string());
  return lines;
}

Json object_with(const std::string& spec) { return {{"metadata", {{"name", "e"}}}, {"spec", Json::parse(spec)}}; }

TEST(EvacuationCodecTest, RoundTrips) {
  api::Evacuation evacuation;
  evacuation.meta.name = "web-1-016da400";
  evacuation.meta.ns = "shop";
  evacuation.meta.labels = {{"evacuator.dev/policy", "balance"}};
  evacuation.meta.annotations = {{"a", "b"}};
  evacuation.meta.finalizers = {"evacuator.dev/evacuation"};
  evacuation.spec = test_api::populated_evacuation_spec();
  Json json = api::encode_evacuation(evacuation);
  EXPECT_EQ(json["apiVersion"], "evacuator.dev/v1alpha1");
  EXPECT_EQ(json["kind"], "Evacuation");
  EXPECT_FALSE(json.contains("status"));

  evacuation.status = test_api::populated_evacuation_status();
  json["status"] = api::encode_status(evacuation.status);
  const auto from_json = api::decode_evacuation(json);
  const auto from_text = api::decode_evacuation(json.dump());
  ASSERT_TRUE(from_json) << from_json.error().message;
  ASSERT_TRUE(from_text) << from_text.error().message;
  EXPECT_EQ(*from_json, evacuation);
  EXPECT_EQ(*from_text, evacuation);
}

api::Evacuation stored_one() {
  api::Evacuation evacuation;
  evacuation.meta.name = "web-1-016da400";
  evacuation.meta.ns = "shop";
  evacuation.meta.uid = "u-1";
  evacuation.meta.resource_version = "7";
  evacuation.meta.generation = 3;
  evacuation.meta.labels = {{"evacuator.dev/policy", "balance"}};
  evacuation.meta.finalizers = {"evacuator.dev/evacuation"};
  evacuation.spec = test_api::populated_evacuation_spec();
  evacuation.status = test_api::populated_evacuation_status();
  return evacuation;
}

Json text_of_stored(const api::Evacuation& evacuation) {
  Json json = api::encode_evacuation(evacuation);
  json["metadata"]["uid"] = evacuation.meta.uid;
  json["metadata"]["resourceVersion"] = evacuation.meta.resource_version;
  json["metadata"]["generation"] = evacuation.meta.generation;
  json["metadata"]["managedFields"] = {{{"manager", "evacuator"}}};
  json["status"] = api::encode_status(evacuation.status);
  return json;
}

TEST(StoredEvacuationTest, ReadsEveryMemberFromText) {
  const api::Evacuation evacuation = stored_one();
  const auto read = api::read_stored_evacuation(text_of_stored(evacuation).dump());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->meta, evacuation.meta);
  EXPECT_EQ(read->spec, evacuation.spec);
  EXPECT_EQ(read->status, evacuation.status);
  EXPECT_EQ(read->spec_problem, "");
}

TEST(StoredEvacuationTest, SkipsTheUnusedSpec) {
  const api::Evacuation evacuation = stored_one();
  Json json = text_of_stored(evacuation);
  json["spec"]["suspend"] = "no flag";
  const auto read = api::read_stored_evacuation(json.dump(), api::StoredParts::kAllButSpec);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->meta, evacuation.meta);
  EXPECT_EQ(read->status, evacuation.status);
  EXPECT_EQ(read->spec, api::EvacuationSpec{});
  EXPECT_EQ(read->spec_problem, "");
}

struct ForeignText {
  const char* name;
  const char* text;
};
class StoredEvacuationTextTest : public ::testing::TestWithParam<ForeignText> {};

/// Each member has a wrong type or an unusual value in one of the cases.
TEST_P(StoredEvacuationTextTest, EqualsTheJsonDecoder) {
  const auto by_json = api::decode_stored_evacuation(Json::parse(GetParam().text));
  const auto read = api::read_stored_evacuation(GetParam().text);
  ASSERT_TRUE(by_json && read);
  EXPECT_EQ(*read, *by_json);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, StoredEvacuationTextTest,
    ::testing::Values(
        ForeignText{"Nothing", R"({"metadata":{}})"}, ForeignText{"MetadataIsAList", R"({"metadata":[1],"status":7})"},
        ForeignText{"SpecIsNull", R"({"metadata":{"name":"a"},"spec":null})"},
        ForeignText{
            "SpecDoesNotDecode",
            R"({"metadata":{"name":"a"},"spec":{"podRef":{"name":"p"},"suspend":3,"new":1},"status":{"attempt":2}})"},
        ForeignText{
            "WrongTypes",
            R"({"metadata":{"name":4,"labels":{"a":1,"b":"c"},"finalizers":[1,"f"]},"status":{"phase":9,"reason":[],
                        "startedAt":"never","attempt":"2","progress":1.5,"signedPriority":"x","podOwner":"me",
                        "intent":[1],"abort":{"next":"Nowhere"},"outcome":{"kind":"New","replacement":1},
                        "lastResponse":null,"blockedBy":[1,{"kind":"pdb"}],"history":{"a":1},"conditions":["x",{"type":"T"}],
                        "refs":{"b":"2","c":3,"a":"1"}}})"},
        ForeignText{"HugeNumbers",
                    R"({"metadata":{"generation":-1},"status":{"attempt":5000000000,"evictorIndex":-5000000000,
                        "progress":99999999999,"observedGeneration":9223372036854775807}})"},
        ForeignText{"Escapes", R"({"metadata":{"name":"\u00e4\n"},"status":{"message":"\"quoted\" \\ \ud83d\ude00",
                        "refs":{"a\tb":"c\/d"}}})"}),
    [](const auto& test) { return test.param.name; });

TEST(StoredEvacuationTest, AcceptsAnIntegerBeyond64Bits) {
  const auto read = api::read_stored_evacuation(
      R"({"metadata":{"name":"a"},"spec":{"podRef":{"name":"p"},"priority":18446744073709551616},"status":{"attempt":2}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->status.attempt, 2);
  EXPECT_THAT(read->spec_problem, HasSubstr("priority"));
}

TEST(StoredEvacuationTest, RefusesAnythingButAnObjectWithMetadata) {
  for (const char* text : {"", "[]", "<html>", R"({"status":{}})", R"({"metadata":{)", R"({"metadata":{}} x)"})
    EXPECT_FALSE(api::read_stored_evacuation(text)) << text;
}

TEST(EvacuationCodecTest, RoundTripsAnEmptyEvacuation) {
  const api::Evacuation evacuation;
  Json json = api::encode_evacuation(evacuation);
  json["status"] = api::encode_status(evacuation.status);
  const auto back = api::decode_evacuation(json);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, evacuation);
}

TEST(EvacuationCodecTest, HasDefaultsForOmittedFields) {
  const auto evacuation = api::decode_evacuation(object_with(R"({"podRef": {"name": "web"}, "retry": null})"));
  ASSERT_TRUE(evacuation);
  api::EvacuationSpec want;
  want.pod_ref.name = "web";
  EXPECT_EQ(evacuation->spec, want);
  EXPECT_EQ(evacuation->status, api::EvacuationStatus{});
}

TEST(EvacuationCodecTest, DerivesTheTextsOfTheColumns) {
  const Json status = api::encode_status(test_api::populated_evacuation_status());
  EXPECT_EQ(status["progressText"], "40%");
  EXPECT_EQ(status["deadlineText"].get<std::string>().find('.'), std::string::npos) << status["deadlineText"];
  EXPECT_EQ(status["target"], "n2");
  EXPECT_EQ(status["blockedBySummary"], "pdb/web (0 allowed, 3/3 healthy)");
  api::EvacuationStatus limited;
  limited.blocked_by = {{"Limit", "node", "", {}, {}, {}, {}}, {"Suspended", "", "", {}, {}, {}, {}}};
  EXPECT_EQ(api::encode_status(limited)["blockedBySummary"], "limit/node; suspended");
}

/// The populated status, and one without each of its members in turn.
std::vector<api::EvacuationStatus> various_statuses() {
  const Json whole = api::encode_status(test_api::populated_evacuation_status());
  std::vector<api::EvacuationStatus> all = {{}, test_api::populated_evacuation_status()};
  for (const auto& [name, value] : whole.items()) {
    Json less = {{"spec", {{"podRef", {{"name", "web"}}}}}, {"status", whole}};
    less["status"].erase(name);
    all.push_back(api::decode_evacuation(less)->status);
  }
  all.emplace_back(all[1]).history.push_back({});
  all.emplace_back(all[1]).conditions.front().message = "another";
  all.emplace_back(all[1]).intent->resolved = false;
  return all;
}

TEST(EvacuationCodecTest, AChangeEqualsThePatchOfFullStatuses) {
  test_api::expect_changes_are_patches(various_statuses());
}

TEST(EvacuationCodecTest, ReadsStatusLeniently) {
  const auto evacuation = api::decode_evacuation(R"({"spec": {"podRef": {"name": "web"}}, "status": {
    "phase": "Dancing", "attempt": "two", "evictorIndex": 99999999999, "deadline": "soon", "progress": 1.5, "intent": [], "blockedBy": [1, {"kind": "Limit"}],
    "history": {}, "conditions": [{"type": "Complete", "status": "True"}, null], "unknown": {}, "outcome": {"kind": "Lost"}}})");
  ASSERT_TRUE(evacuation) << evacuation.error().message;
  EXPECT_EQ(evacuation->status.phase, api::EvacuationPhase::kPending);
  EXPECT_EQ(evacuation->status.attempt, 0);
  EXPECT_EQ(evacuation->status.evictor_index, 2147483647);
  EXPECT_FALSE(evacuation->status.deadline || evacuation->status.progress || evacuation->status.intent);
  EXPECT_EQ(evacuation->status.blocked_by.size(), 1U);
  EXPECT_TRUE(api::is_true(evacuation->status.conditions, "Complete"));
  EXPECT_EQ(evacuation->status.outcome->kind, api::OutcomeKind::kEvicted);
  EXPECT_TRUE(api::decode_evacuation(R"({"spec": {"podRef": {"name": "web"}}, "status": 7})"));
}

struct StrictCase {
  std::string name;
  std::string spec;
  std::vector<std::string> errors;
};

class EvacuationStrictTest : public testing::TestWithParam<StrictCase> {};

TEST_P(EvacuationStrictTest, ComplainsWithTheFullPath) {
  const auto& [name, spec, errors] = GetParam();
  const auto evacuation = api::decode_evacuation(object_with(spec));
  ASSERT_FALSE(evacuation);
  EXPECT_EQ(evacuation.error().code, base::ErrorCode::kInvalid);
  std::string want;
  for (const std::string& error : errors) want += (want.empty() ? "" : "; ") + error;
  EXPECT_EQ(evacuation.error().message, want);
}

INSTANTIATE_TEST_SUITE_P(
    Evacuation, EvacuationStrictTest,
    testing::Values(
        StrictCase{"UnknownField", R"({"podRef":{"name":"w"},"foo":1})", {"spec.foo: unknown field"}},
        StrictCase{"MisspeltField",
                   R"({"podRef":{"name":"w"},"suspnd":true})",
                   {"spec.suspnd: unknown field, did you mean \"suspend\"?"}},
        StrictCase{"WrongCase", R"({"podref":{"name":"w"}})", {"spec.podref: unknown field, did you mean \"podRef\"?"}},
        StrictCase{"UnknownFieldInside",
                   R"({"podRef":{"name":"w","namespace":"x"}})",
                   {"spec.podRef.namespace: unknown field"}},
        StrictCase{"SpecOfAnotherType", "[]", {"spec: must be an object, not a list"}},
        StrictCase{"StringForBoolean", R"({"suspend":"yes"})", {"spec.suspend: must be true or false, not a string"}},
        StrictCase{"NumberForString", R"({"reason":7})", {"spec.reason: must be a string, not a number"}},
        StrictCase{"StringForNumber", R"({"priority":"7"})", {"spec.priority: must be a whole number, not a string"}},
        StrictCase{"Fraction",
                   R"({"priority":1.5})",
                   {"spec.priority: 1.5 is not a whole number from -2147483648 to 2147483647"}},
        StrictCase{"TooLargeForTheType",
                   R"({"retry":{"maxAttempts":4294967296}})",
                   {"spec.retry.maxAttempts: 4294967296 is not a whole number from -2147483648 to 2147483647"}},
        StrictCase{"TooLargeForAnyType",
                   R"({"gracePeriodSeconds":18446744073709551615})",
                   {"spec.gracePeriodSeconds: 18446744073709551615 is not a whole number from -9223372036854775808 to "
                    "9223372036854775807"}},
        StrictCase{"ObjectForList", R"({"evictors":{}})", {"spec.evictors: must be a list, not an object"}},
        StrictCase{"NumberInList", R"({"evictors":[3]})", {"spec.evictors[0]: must be an object, not a number"}},
        StrictCase{"ParameterOfAnotherType",
                   R"({"evictors":[{"name":"annotation","parameters":{"n":3}}]})",
                   {"spec.evictors[0].parameters.n: must be a string, not a number"}},
        StrictCase{"ParametersOfAnotherType",
                   R"({"evictors":[{"name":"annotation","parameters":"x"}]})",
                   {"spec.evictors[0].parameters: must be an object, not a string"}},
        StrictCase{"UnknownEnumerator",
                   R"({"onTimeout":"Retry"})",
                   {"spec.onTimeout: \"Retry\" is not one of Cancel, Fail or NextEvictor"}},
        StrictCase{
            "MisspeltEnumerator",
            R"({"holdSlotUntil":"PodGon"})",
            {"spec.holdSlotUntil: \"PodGon\" is not one of PodGone or ReplacementReady, did you mean \"PodGone\"?"}},
        StrictCase{"Placement",
                   R"({"placement":{"targetNode":"n2","policy":"Maybe"}})",
                   {"spec.placement.policy: \"Maybe\" is not one of Preferred or Required",
                    "spec.placement.targetNode: unknown field"}},
        StrictCase{"Everything",
                   R"({"podRef":[],"timeouts":{"prepareSeconds":"5m","x":1},"cancel":{"requested":1}})",
                   {"spec.podRef: must be an object, not a list",
                    "spec.timeouts.prepareSeconds: must be a whole number, not a string",
                    "spec.timeouts.x: unknown field", "spec.cancel.requested: must be true or false, not a number"}}),
    [](const auto& test) { return test.param.name; });

TEST(EvacuationCodecTest, RefusesAnythingButAnObject) {
  EXPECT_THAT(api::decode_evacuation("[]").error().message, HasSubstr("must be an object"));
  EXPECT_THAT(api::decode_evacuation("<html>").error().message, HasSubstr("decoding an Evacuation: not valid JSON"));
  EXPECT_THAT(api::decode_evacuation(std::string(10000, '[')).error().message, HasSubstr("levels deep"));
}

api::EvacuationSpec minimal() {
  api::EvacuationSpec spec;
  spec.pod_ref.name = "web-1";
  return spec;
}

struct BoundCase {
  std::string name;
  std::function<void(api::EvacuationSpec&)> change;
  std::vector<std::string> errors;
};

class EvacuationBoundsTest : public testing::TestWithParam<BoundCase> {};

TEST_P(EvacuationBoundsTest, AreChecked) {
  api::EvacuationSpec spec = minimal();
  GetParam().change(spec);
  EXPECT_EQ(texts(api::validate(spec, kEvictors)), GetParam().errors);
}

using Spec = api::EvacuationSpec;
using base::seconds;

INSTANTIATE_TEST_SUITE_P(
    Evacuation, EvacuationBoundsTest,
    testing::Values(
        BoundCase{"Minimal", [](Spec&) {}, {}},
        BoundCase{"Populated", [](Spec& s) { s = test_api::populated_evacuation_spec(); }, {}},
        BoundCase{"NoPod", [](Spec& s) { s.pod_ref.name.clear(); }, {"spec.podRef.name: is required"}},
        BoundCase{"BadPod",
                  [](Spec& s) { s.pod_ref.name = "Web_1"; },
                  {"spec.podRef.name: \"Web_1\" is not a DNS subdomain: lower-case letters, digits, '-' and '.', at "
                   "most 253"}},
        BoundCase{"LongUid",
                  [](Spec& s) { s.pod_ref.uid.value = std::string(129, 'u'); },
                  {"spec.podRef.uid: is longer than 128 characters"}},
        BoundCase{
            "BadNode",
            [](Spec& s) { s.node_name.value = "n 1"; },
            {"spec.nodeName: \"n 1\" is not a DNS subdomain: lower-case letters, digits, '-' and '.', at most 253"}},
        BoundCase{"LongReason",
                  [](Spec& s) { s.reason = std::string(1025, 'r'); },
                  {"spec.reason: is longer than 1024 characters"}},
        BoundCase{"ReasonOfWideCharacters",
                  [](Spec& s) {
                    for (int i = 0; i < 1024; ++i) s.reason += "\u00fc";
                  },
                  {}},
        BoundCase{"NoGrace", [](Spec& s) { s.grace_period_seconds = 0; }, {"spec.gracePeriodSeconds: 0 is below 1"}},
        BoundCase{"NoAttempt", [](Spec& s) { s.retry.max_attempts = 0; }, {"spec.retry.maxAttempts: 0 is below 1"}},
        BoundCase{
            "ManyAttempts", [](Spec& s) { s.retry.max_attempts = 21; }, {"spec.retry.maxAttempts: 21 is above 20"}},
        BoundCase{"BackoffAboveItsMaximum",
                  [](Spec& s) {
                    s.retry = {3, seconds(60), seconds(30)};
                  },
                  {"spec.retry.backoffMaxSeconds: 30 is below backoffSeconds, which is 60"}},
        BoundCase{"NegativeBackoff",
                  [](Spec& s) { s.retry.backoff = seconds(-1); },
                  {"spec.retry.backoffSeconds: -1 is below 1"}},
        BoundCase{"ZeroTimeout",
                  [](Spec& s) { s.timeouts.prepare = seconds(0); },
                  {"spec.timeouts.prepareSeconds: 0 is below 1"}},
        BoundCase{"ZeroBlockedIsFine", [](Spec& s) { s.timeouts.blocked = seconds(0); }, {}},
        BoundCase{"LongTimeout",
                  [](Spec& s) { s.timeouts.total = seconds(604801); },
                  {"spec.timeouts.totalSeconds: 604801 is above 604800"}},
        BoundCase{"NegativeTtl",
                  [](Spec& s) { s.ttl_after_finished = seconds(-1); },
                  {"spec.ttlSecondsAfterFinished: -1 is below 0"}},
        BoundCase{
            "Priority", [](Spec& s) { s.priority = 2000000000; }, {"spec.priority: 2000000000 is above 1000000000"}},
        BoundCase{"DuplicateEvictor",
                  [](Spec& s) {
                    s.evictors = {{"annotation", {}}, {"eviction-api", {}}, {"annotation", {}}};
                  },
                  {"spec.evictors[2].name: \"annotation\" is already at spec.evictors[0]"}},
        BoundCase{"NamelessEvictor",
                  [](Spec& s) {
                    s.evictors = {{"", {}}};
                  },
                  {"spec.evictors[0].name: is required"}},
        BoundCase{"EvictorOfTheFuture",
                  [](Spec& s) {
                    s.evictors = {{"kubevirt", {}}};
                  },
                  {"spec.evictors[0].name: evictor \"kubevirt\" is not supported yet, use eviction-api or annotation"}},
        BoundCase{"UnknownEvictor",
                  [](Spec& s) {
                    s.evictors = {{"eviction-ap", {}}, {"magic", {}}};
                  },
                  {"spec.evictors[0].name: unknown evictor \"eviction-ap\", use eviction-api or annotation, did you "
                   "mean \"eviction-api\"?",
                   "spec.evictors[1].name: unknown evictor \"magic\", use eviction-api or annotation"}},
        BoundCase{"ManyEvictors",
                  [](Spec& s) { s.evictors.resize(9); },
                  {"spec.evictors: has 9 items, at most 8 are allowed", "spec.evictors[0].name: is required",
                   "spec.evictors[1].name: is required", "spec.evictors[2].name: is required",
                   "spec.evictors[3].name: is required", "spec.evictors[4].name: is required",
                   "spec.evictors[5].name: is required", "spec.evictors[6].name: is required",
                   "spec.evictors[7].name: is required", "spec.evictors[8].name: is required"}},
        BoundCase{"LongParameter",
                  [](Spec& s) {
                    s.evictors = {{"annotation", {{"a", std::string(1025, 'x')}}}};
                  },
                  {"spec.evictors[0].parameters.a: is longer than 1024 characters"}},
        BoundCase{
            "PlacementWithoutNode", [](Spec& s) { s.placement.emplace(); }, {"spec.placement.nodeName: is required"}},
        BoundCase{"PlacementWhereItIs",
                  [](Spec& s) {
                    s.node_name = {"n1"};
                    s.placement = api::PlacementHint{{"n1"}};
                  },
                  {"spec.placement.nodeName: is the node that the pod leaves"}},
        BoundCase{"PlacementForEver",
                  [](Spec& s) {
                    s.placement = api::PlacementHint{{"n2"}, api::PlacementPolicy::kPreferred, seconds(86401)};
                  },
                  {"spec.placement.expiresAfterSeconds: 86401 is above 86400"}},
        BoundCase{"LongCancelReason",
                  [](Spec& s) { s.cancel.reason = std::string(1025, 'x'); },
                  {"spec.cancel.reason: is longer than 1024 characters"}}),
    [](const auto& test) { return test.param.name; });

TEST(CheckEvacuationTest, CollectsEverythingAtOnceAndEachFieldOnce) {
  const auto errors = api::check_evacuation(
      object_with(R"({"podRef":{"name":7},"retry":{"maxAttempts":99},"foo":1,"evictors":[{"name":"surge"}]})"),
      kEvictors);
  EXPECT_THAT(
      texts(errors),
      ElementsAre("spec.podRef.name: must be a string, not a number", "spec.foo: unknown field",
                  "spec.evictors[0].name: evictor \"surge\" is not supported yet, use eviction-api or annotation",
                  "spec.retry.maxAttempts: 99 is above 20"));
  EXPECT_THAT(texts(api::check_evacuation(Json::array(), kEvictors)),
              ElementsAre(": an Evacuation must be an object, not a list"));
  EXPECT_THAT(texts(api::check_evacuation(Json::object(), kEvictors)), ElementsAre("spec.podRef.name: is required"));
  EXPECT_THAT(api::check_evacuation(object_with(R"({"podRef":{"name":"w"}})"), kEvictors), IsEmpty());
}

struct UpdateCase {
  std::string name;
  std::function<void(Spec&)> change;
  std::vector<std::string> errors;
};

class EvacuationUpdateTest : public testing::TestWithParam<UpdateCase> {};

TEST_P(EvacuationUpdateTest, MayChangeOnlyTheAllowedFields) {
  const Spec before = test_api::populated_evacuation_spec();
  Spec after = before;
  GetParam().change(after);
  EXPECT_EQ(texts(api::validate_update(before, after)), GetParam().errors);
}

std::vector<std::string> immutable(const std::string& path) {
  return {"spec." + path + ": may not change after creation"};
}

INSTANTIATE_TEST_SUITE_P(
    Evacuation, EvacuationUpdateTest,
    testing::Values(
        UpdateCase{"Nothing", [](Spec&) {}, {}}, UpdateCase{"Suspend", [](Spec& s) { s.suspend = false; }, {}},
        UpdateCase{"Priority", [](Spec& s) { s.priority = 9; }, {}},
        UpdateCase{"CancelReason", [](Spec& s) { s.cancel.reason = "other"; }, {}},
        UpdateCase{"CancelBack",
                   [](Spec& s) { s.cancel.requested = false; },
                   {"spec.cancel.requested: may not be taken back: true stays true"}},
        UpdateCase{"PodName", [](Spec& s) { s.pod_ref.name = "x"; }, immutable("podRef.name")},
        UpdateCase{"PodUid", [](Spec& s) { s.pod_ref.uid.value.clear(); }, immutable("podRef.uid")},
        UpdateCase{"Node", [](Spec& s) { s.node_name.value = "n2"; }, immutable("nodeName")},
        UpdateCase{"Reason", [](Spec& s) { s.reason = "x"; }, immutable("reason")},
        UpdateCase{"Source", [](Spec& s) { s.source.policy = "x"; }, immutable("source")},
        UpdateCase{"Placement", [](Spec& s) { s.placement->node_name = {"n9"}; }, immutable("placement")},
        UpdateCase{"Evictors", [](Spec& s) { s.evictors.pop_back(); }, immutable("evictors")},
        UpdateCase{"Grace", [](Spec& s) { s.grace_period_seconds.reset(); }, immutable("gracePeriodSeconds")},
        UpdateCase{"Group", [](Spec& s) { s.concurrency_group = "x"; }, immutable("concurrencyGroup")},
        UpdateCase{"Timeouts", [](Spec& s) { s.timeouts.verify.reset(); }, immutable("timeouts")},
        UpdateCase{"Retry", [](Spec& s) { s.retry.max_attempts = 1; }, immutable("retry")},
        UpdateCase{"OnTimeout", [](Spec& s) { s.on_timeout = api::OnTimeout::kFail; }, immutable("onTimeout")},
        UpdateCase{"HoldSlot", [](Spec& s) { s.hold_slot_until = api::HoldSlotUntil::kPodGone; },
                   immutable("holdSlotUntil")},
        UpdateCase{"Replacement", [](Spec& s) { s.require_replacement = false; }, immutable("requireReplacement")},
        UpdateCase{"Ttl", [](Spec& s) { s.ttl_after_finished.reset(); }, immutable("ttlSecondsAfterFinished")},
        UpdateCase{"DryRun", [](Spec& s) { s.dry_run = false; }, immutable("dryRun")}),
    [](const auto& test) { return test.param.name; });

TEST(EvacuationUpdateTest, AllowsUidNodeAndCancelToBeSet) {
  const Spec before = minimal();
  Spec after = before;
  after.pod_ref.uid.value = "u-1";
  after.node_name.value = "n1";
  after.cancel = {true, "enough"};
  EXPECT_THAT(api::validate_update(before, after), IsEmpty());
}

struct EvacuationNameCase {
  std::string name;
  std::string pod;
  std::string uid;
  std::string want;
};

class EvacuationNameTest : public testing::TestWithParam<EvacuationNameCase> {};

TEST_P(EvacuationNameTest, IsReadableAndAName) {
  const auto& [name, pod, uid, want] = GetParam();
  EXPECT_EQ(api::evacuation_name(pod, {uid}), want);
}

INSTANTIATE_TEST_SUITE_P(Evacuation, EvacuationNameTest,
                         testing::Values(EvacuationNameCase{"Usual", "web-1", "016da400-760b-46f1-844d-9b343c6af858",
                                                            "web-1-016da400"},
                                         EvacuationNameCase{"ShortUid", "web", "u-1", "web-u-1"},
                                         EvacuationNameCase{"NoUid", "web", "", "web-0"},
                                         EvacuationNameCase{"UpperCaseUid", "web", "ABCDEF0123", "web-abcdef01"},
                                         EvacuationNameCase{"OddUid", "web", "--/x_", "web-x"},
                                         EvacuationNameCase{"LongPod", std::string(253, 'a'), "016da400-",
                                                            std::string(244, 'a') + "-016da400"},
                                         EvacuationNameCase{"CutAtADot", std::string(243, 'a') + ".bcdefghij",
                                                            "016da400-", std::string(243, 'a') + "-016da400"}),
                         [](const auto& test) { return test.param.name; });

TEST(EvacuationTest, FormatsItsToken) {
  api::Evacuation evacuation;
  evacuation.meta.uid = "e-1";
  evacuation.status.attempt = 3;
  EXPECT_EQ(evacuation.current_token(), "e-1.3");
}

TEST(EvacuationPhaseTest, KnowsTheTerminalOnes) {
  using api::EvacuationPhase;
  for (int i = 0; i <= static_cast<int>(EvacuationPhase::kCancelled); ++i) {
    const auto phase = static_cast<EvacuationPhase>(i);
    EXPECT_EQ(api::parse_evacuation_phase(api::to_string(phase)), phase);
    EXPECT_EQ(api::is_terminal(phase), i >= static_cast<int>(EvacuationPhase::kSucceeded));
  }
  EXPECT_EQ(api::parse_evacuation_phase("pending"), std::nullopt);
}

struct StoredCase {
  const char* name;
  const char* spec;
  const char* pod;
  std::int32_t priority;
  const char* problem;
};
class StoredEvacuation : public testing::TestWithParam<StoredCase> {};

TEST_P(StoredEvacuation, KeepsTheDecodableParts) {
  const auto stored = api::decode_stored_evacuation(object_with(GetParam().spec));
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(stored->meta.name, "e");
  EXPECT_EQ(stored->spec.pod_ref.name, GetParam().pod);
  EXPECT_EQ(stored->spec.priority, GetParam().priority);
  EXPECT_THAT(stored->spec_problem, HasSubstr(GetParam().problem));
  EXPECT_EQ(stored->spec_problem.empty(), std::string(GetParam().problem).empty());
}

INSTANTIATE_TEST_SUITE_P(Specs, StoredEvacuation,
                         testing::Values(StoredCase{"Good", R"({"podRef":{"name":"web"},"priority":3})", "web", 3, ""},
                                         StoredCase{"OneBadField", R"({"podRef":{"name":"web"},"priority":3,"mood":1})",
                                                    "web", 3, "spec.mood"},
                                         StoredCase{"BadMemberOfPodRef",
                                                    R"({"podRef":{"name":"web","mood":1},"priority":3})", "web", 3,
                                                    "spec.podRef.mood"},
                                         StoredCase{"NoPodAtAll", R"({"podRef":7,"priority":3})", "", 3, "spec.podRef"},
                                         StoredCase{"NoObject", R"(7)", "", 0, "spec"}),
                         [](const auto& each) { return each.param.name; });

}  // namespace evacuation_test
