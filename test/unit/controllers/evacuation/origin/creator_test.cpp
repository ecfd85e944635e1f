#include "controllers/evacuation/origin/creator.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "api/meta/well_known.hpp"
#include "controllers/evacuation/origin/origin.hpp"
#include "controllers/evacuation/origin/spec_hash.hpp"

namespace creator_test {

using namespace controllers;
using api::Json;
using base::seconds;

const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");
const std::string kCreator(api::well_known::kCreatorAnnotation);
const Json kAlice = {{"user", "alice"}, {"groups", Json::array({"dev", "ops"})}};

crypto::Key key(char filler = 'k') { return *crypto::Key::from_bytes(std::string(crypto::Key::kBytes, filler)); }
crypto::KeyRing keys() { return {key(), key('p')}; }

api::Evacuation wanted() {
  api::Evacuation evacuation;
  evacuation.meta.ns = "shop";
  evacuation.meta.name = "web-1";
  evacuation.meta.uid = "e-1";
  evacuation.meta.creation_timestamp = kNoon;
  evacuation.spec.pod_ref.name = "web-1";
  evacuation.spec.evictors = {{"kubevirt", {{"mode", "Migration"}}}};
  return evacuation;
}

NewObject object_of(const api::Evacuation& evacuation) {
  return {"Evacuation", evacuation.meta.ns, evacuation.meta.name, "", spec_hash(evacuation.spec)};
}

api::Evacuation with_record(api::Evacuation evacuation, const std::string& record) {
  evacuation.meta.annotations = evacuation.meta.annotations.with(kCreator, record);
  return evacuation;
}

/// Returns the object that alice created, as the server shows it.
api::Evacuation made() { return with_record(wanted(), creator_record(kAlice, object_of(wanted()), key(), kNoon)); }

TEST(Creator, IsProven) {
  EXPECT_EQ(proven_creator(made(), keys()), kAlice);
  const Json record = Json::parse(made().meta.annotations.value(kCreator));
  EXPECT_EQ(record["user"], "alice") << "people can read it";
}

TEST(Creator, SurvivesDefaultsAndPermittedChanges) {
  api::Evacuation later = made();
  later.spec.pod_ref.uid = {"7c1a8c1e"};
  later.spec.node_name = {"node-a"};
  later.spec.suspend = true;
  later.spec.cancel = {true, "no"};
  EXPECT_EQ(proven_creator(later, keys()), kAlice);
}

TEST(Creator, OfAGeneratedNameIsOfThatPrefix) {
  NewObject object = object_of(wanted());
  object.name.clear();
  object.name_prefix = "web-";
  EXPECT_EQ(proven_creator(with_record(wanted(), creator_record(kAlice, object, key(), kNoon)), keys()), kAlice);
  object.name_prefix = "api-";
  EXPECT_EQ(proven_creator(with_record(wanted(), creator_record(kAlice, object, key(), kNoon)), keys()), std::nullopt);
}

TEST(Creator, IsProvenByTheKeyBeforeTooAndByNoOther) {
  const auto by = [](char filler) {
    return with_record(wanted(), creator_record(kAlice, object_of(wanted()), key(filler), kNoon));
  };
  EXPECT_EQ(proven_creator(by('p'), keys()), kAlice);
  EXPECT_EQ(proven_creator(by('x'), keys()), std::nullopt);
}

struct ForgedCase {
  const char* name;
  void (*change)(api::Evacuation& evacuation);
};
void PrintTo(const ForgedCase& given, std::ostream* out) { *out << given.name; }

void edit_record(api::Evacuation& evacuation, const std::function<void(Json&)>& change) {
  Json record = Json::parse(evacuation.meta.annotations.value(kCreator));
  change(record);
  evacuation = with_record(evacuation, record.dump());
}

class ForgedCreator : public testing::TestWithParam<ForgedCase> {};
TEST_P(ForgedCreator, IsNotProven) {
  api::Evacuation evacuation = made();
  GetParam().change(evacuation);
  EXPECT_EQ(proven_creator(evacuation, keys()), std::nullopt);
}
INSTANTIATE_TEST_SUITE_P(
    Creator, ForgedCreator,
    testing::Values(
        ForgedCase{"another user",
                   [](api::Evacuation& e) { edit_record(e, [](Json& record) { record["user"] = "root"; }); }},
        ForgedCase{"a group more",
                   [](api::Evacuation& e) {
                     edit_record(e, [](Json& record) { record["groups"].push_back("system:masters"); });
                   }},
        ForgedCase{"a field more",
                   [](api::Evacuation& e) { edit_record(e, [](Json& record) { record["uid"] = "0"; }); }},
        ForgedCase{"a prefix", [](api::Evacuation& e) { edit_record(e, [](Json& r) { r["namePrefix"] = "web"; }); }},
        ForgedCase{"another time", [](api::Evacuation& e) { edit_record(e, [](Json& r) { r["time"] = 1; }); }},
        ForgedCase{"a time that is none", [](api::Evacuation& e) { edit_record(e, [](Json& r) { r["time"] = -1; }); }},
        ForgedCase{"no signature", [](api::Evacuation& e) { edit_record(e, [](Json& r) { r.erase("signature"); }); }},
        ForgedCase{"no JSON", [](api::Evacuation& e) { e = with_record(e, "alice"); }},
        ForgedCase{"a list", [](api::Evacuation& e) { e = with_record(e, "[]"); }},
        ForgedCase{"enormous", [](api::Evacuation& e) { e = with_record(e, std::string(200'000, '[')); }},
        ForgedCase{"none", [](api::Evacuation& e) { e.meta.annotations = {}; }},
        ForgedCase{"copied to another name", [](api::Evacuation& e) { e.meta.name = "web-2"; }},
        ForgedCase{"copied to another namespace", [](api::Evacuation& e) { e.meta.ns = "bank"; }},
        ForgedCase{"another spec", [](api::Evacuation& e) { e.spec.evictors[0].parameters.emplace_back("a", "b"); }},
        ForgedCase{"a spec that is none", [](api::Evacuation& e) { e.spec_problem = "no"; }},
        ForgedCase{"sent again later",
                   [](api::Evacuation& e) { e.meta.creation_timestamp += kOriginWindow + seconds(1); }},
        ForgedCase{"sent before",
                   [](api::Evacuation& e) { e.meta.creation_timestamp -= kOriginWindow + seconds(1); }}));

TEST(Creator, OfAPolicyDoesNotCountForAnEvacuation) {
  NewObject object = object_of(wanted());
  object.kind = "DeschedulerPolicy";
  EXPECT_EQ(proven_creator(with_record(wanted(), creator_record(kAlice, object, key(), kNoon)), keys()), std::nullopt);
}

/// A user deletes an object that an administrator created, and creates a copy of it while the API server bypasses the
/// webhook.
TEST(Creator, OfADeletedObjectIsNotThatOfItsSuccessor) {
  base::ManualClock clock{kNoon};
  OriginMemory memory(clock);
  EXPECT_EQ(proven_creator(made(), keys(), &memory), kAlice);
  EXPECT_EQ(proven_creator(made(), keys(), &memory), kAlice) << "the same, looked at again";
  api::Evacuation next = made();
  next.meta.uid = "e-2";
  EXPECT_EQ(proven_creator(next, keys(), &memory), std::nullopt);
}

TEST(Subject, HasTheFieldsOfASubjectAccessReview) {
  const Json info = {{"username", "alice"},
                     {"uid", "u-1"},
                     {"groups", Json::array({"dev"})},
                     {"extra", {{"scopes", Json::array({"a"})}}},
                     {"else", 1}};
  EXPECT_EQ(*subject_of(info), (Json{{"user", "alice"},
                                     {"uid", "u-1"},
                                     {"groups", Json::array({"dev"})},
                                     {"extra", {{"scopes", Json::array({"a"})}}}}));
}

TEST(Subject, OmitsInvalidAndExcessiveFields) {
  Json info = {{"username", "alice"}, {"groups", Json::array({1})}, {"extra", Json::array()}};
  EXPECT_EQ(*subject_of(info), (Json{{"user", "alice"}}));
  info["groups"] = Json::array({std::string(kMaxUserBytes, 'g')});
  EXPECT_EQ(*subject_of(info), (Json{{"user", "alice"}}));
}

TEST(Subject, NeedsAName) {
  EXPECT_FALSE(subject_of({}));
  EXPECT_FALSE(subject_of({{"username", ""}}));
  EXPECT_TRUE(subject_of({{"username", std::string(kMaxUser, 'a')}}));
  EXPECT_FALSE(subject_of({{"username", std::string(kMaxUser + 1, 'a')}}));
}

}  // namespace creator_test
