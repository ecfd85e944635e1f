#include "controllers/evacuation/origin/keys.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/base64.hpp"

/// The Secret with the signing keys, on a server that stores one object.
namespace keys_test {

using namespace controllers;
using api::Json;
using base::seconds;

const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");

class OneSecret final : public kube::Transport {
 public:
  base::Result<kube::Response> round_trip(const kube::Request& request) override {
    log.push_back(request.method + " " + request.path);
    if (forbidden) return failure(403, "Forbidden", "secrets is forbidden");
    if (request.method == "GET") {
      const bool hidden = std::exchange(hide_once, false);
      return secret.is_null() || hidden ? failure(404, "NotFound", "not there") : answer(200);
    }
    Json body = Json::parse(request.body);
    if (request.method == "POST") {
      if (!secret.is_null()) return failure(409, "AlreadyExists", "it is there");
    } else if (body["metadata"]["resourceVersion"] != secret["metadata"]["resourceVersion"]) {
      return failure(409, "Conflict", "changed meanwhile");
    }
    if (lose_answers) return base::Error{base::ErrorCode::kOutcomeUnknown, "lost", {}};
    store(std::move(body));
    return answer(request.method == "POST" ? 201 : 200);
  }
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request&) override {
    return base::unavailable("no watches here");
  }
  void store(Json object) {
    secret = std::move(object);
    secret["metadata"]["resourceVersion"] = std::to_string(++version_);
  }
  std::string key(const char* name) const {
    return secret["data"].contains(name) ? *base::decode_base64(secret["data"][name].get<std::string>()) : "";
  }

  Json secret;
  bool forbidden = false;
  bool hide_once = false;  ///< the next GET returns NotFound because another replica creates the Secret at that moment
  bool lose_answers = false;
  std::vector<std::string> log;

 private:
  kube::Response answer(int code) const { return {code, secret.dump(), {}, "application/json"}; }
  static kube::Response failure(int code, const char* reason, const char* message) {
    const Json details = {{"name", "evacuator-signing"}, {"kind", "secrets"}};
    const Json body = {
        {"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}, {"details", details}};
    return {code, body.dump(), {}, "application/json"};
  }
  int version_ = 0;
};

class Keys : public testing::Test {
 protected:
  SecretKeys replica(base::Duration rotate_after = base::minutes(60)) {
    return SecretKeys(client_, clock_, {.ns = "evacuator-system", .rotate_after = rotate_after}, {});
  }
  void later(SecretKeys& keys, base::Duration by, bool leads = true) {
    clock_.advance(by);
    keys.refresh(leads);
  }

  OneSecret server_;
  kube::Client client_{server_, nullptr};
  base::ManualClock clock_{kNoon};
};

TEST_F(Keys, AreMadeByTheLeaderAtItsFirstStart) {
  SecretKeys keys = replica();
  EXPECT_EQ(keys.keys(), nullptr);
  EXPECT_NE(keys.problem(), "");
  keys.refresh(true);
  ASSERT_TRUE(keys.keys());
  EXPECT_EQ(keys.problem(), "");
  EXPECT_EQ(keys.keys()->current.bytes(), server_.key("current"));
  EXPECT_EQ(keys.keys()->previous, std::nullopt);
  EXPECT_EQ(server_.secret["metadata"]["name"], "evacuator-signing");
  EXPECT_EQ(server_.secret["metadata"]["namespace"], "evacuator-system");
  EXPECT_EQ(server_.secret["metadata"]["annotations"]["evacuator.dev/rotated-at"], "2026-11-21T12:00:00Z");
}

class SigningKeys : public Keys {};

TEST_F(SigningKeys, ADeletedSecretKeepsTheKnownKeyAsPrevious) {
  SecretKeys keys = replica();
  keys.refresh(true);
  const auto before = keys.keys();
  server_.secret = nullptr;
  later(keys, SecretKeys::kLookEvery);
  EXPECT_NE(keys.keys()->current, before->current);
  EXPECT_EQ(keys.keys()->previous, before->current) << "what it signed a moment ago is not forged";
  EXPECT_EQ(server_.key("previous"), before->current.bytes()) << "nor for the other replicas";
}

TEST_F(Keys, AreReadByStandbysAndNeverMadeByThem) {
  SecretKeys leader = replica();
  SecretKeys standby = replica();
  standby.refresh(false);
  EXPECT_EQ(standby.keys(), nullptr);
  EXPECT_TRUE(server_.secret.is_null());
  leader.refresh(true);
  later(standby, SecretKeys::kRetryEvery, false);
  ASSERT_TRUE(standby.keys());
  EXPECT_EQ(*standby.keys(), *leader.keys());
}

TEST_F(Keys, AreReadWhenAnotherReplicaWasFaster) {
  SecretKeys first = replica();
  first.refresh(true);
  SecretKeys second = replica();
  server_.hide_once = true;
  second.refresh(true);
  EXPECT_EQ(second.keys(), nullptr);
  later(second, SecretKeys::kRetryEvery);
  ASSERT_TRUE(second.keys());
  EXPECT_EQ(*second.keys(), *first.keys());
}

TEST_F(Keys, AreCreatedAtOnceByANewLeader) {
  SecretKeys keys = replica();
  keys.refresh(false);
  keys.refresh(true);
  EXPECT_TRUE(keys.keys());
}

TEST_F(Keys, AreNotReadConstantly) {
  SecretKeys keys = replica();
  keys.refresh(true);
  const std::size_t calls = server_.log.size();
  for (int i = 0; i < 59; ++i) later(keys, seconds(1));
  EXPECT_EQ(server_.log.size(), calls);
  later(keys, seconds(1));
  EXPECT_EQ(server_.log.size(), calls + 1);
}

TEST_F(Keys, AreRotatedWithOverlap) {
  SecretKeys keys = replica(std::chrono::hours(1));
  keys.refresh(true);
  const crypto::KeyRing before = *keys.keys();
  later(keys, base::minutes(59));
  EXPECT_EQ(*keys.keys(), before);
  later(keys, base::minutes(1));
  EXPECT_NE(keys.keys()->current, before.current);
  EXPECT_EQ(keys.keys()->previous, before.current) << "what it signed still counts";
  EXPECT_EQ(server_.key("previous"), before.current.bytes());
  const crypto::KeyRing second = *keys.keys();
  later(keys, std::chrono::hours(1));
  EXPECT_EQ(keys.keys()->previous, second.current);
  EXPECT_EQ(keys.keys()->find(before.current.id()), nullptr);
}

TEST_F(Keys, AreNotRotatedByStandbysNorWhenThatIsOff) {
  SecretKeys leader = replica(base::Duration::zero());
  leader.refresh(true);
  const crypto::KeyRing before = *leader.keys();
  later(leader, std::chrono::hours(10'000));
  EXPECT_EQ(*leader.keys(), before);
  SecretKeys standby = replica(std::chrono::hours(1));
  standby.refresh(false);
  EXPECT_EQ(*standby.keys(), before);
}

TEST_F(Keys, AreRotatedNowWhenTheirTimeIsTakenOff) {
  SecretKeys keys = replica(std::chrono::hours(1000));
  keys.refresh(true);
  const crypto::Key before = keys.keys()->current;
  server_.secret["metadata"]["annotations"].erase("evacuator.dev/rotated-at");
  later(keys, SecretKeys::kLookEvery);
  EXPECT_EQ(keys.keys()->previous, before);
}

TEST_F(Keys, KeepForeignDataInTheSecret) {
  SecretKeys keys = replica(std::chrono::hours(1));
  keys.refresh(true);
  server_.secret["metadata"]["labels"]["team"] = "ops";
  server_.secret["data"]["note"] = "aGVsbG8=";
  later(keys, std::chrono::hours(1));
  EXPECT_EQ(server_.secret["metadata"]["labels"]["team"], "ops");
  EXPECT_EQ(server_.secret["data"]["note"], "aGVsbG8=");
  EXPECT_NE(server_.key("previous"), "");
}

TEST_F(Keys, ForbiddenReadIsReported) {
  server_.forbidden = true;
  SecretKeys keys = replica();
  keys.refresh(true);
  EXPECT_EQ(keys.keys(), nullptr);
  EXPECT_EQ(keys.problem(),
            "signing keys in Secret evacuator-system/evacuator-signing: GET "
            "/api/v1/namespaces/evacuator-system/secrets/evacuator-signing: secrets is forbidden");
  server_.forbidden = false;
  later(keys, SecretKeys::kRetryEvery);
  EXPECT_TRUE(keys.keys());
}

TEST_F(Keys, ThatWereReadBeforeStayInUse) {
  SecretKeys keys = replica();
  keys.refresh(true);
  server_.forbidden = true;
  later(keys, SecretKeys::kLookEvery);
  EXPECT_TRUE(keys.keys());
  EXPECT_NE(keys.problem(), "");
}

TEST_F(Keys, StayKnownWhenTheAnswerToARotationIsLost) {
  SecretKeys keys = replica(std::chrono::hours(1));
  keys.refresh(true);
  const crypto::KeyRing before = *keys.keys();
  server_.lose_answers = true;
  later(keys, std::chrono::hours(1));
  EXPECT_EQ(*keys.keys(), before);
  server_.lose_answers = false;
  later(keys, SecretKeys::kRetryEvery);
  EXPECT_EQ(keys.keys()->previous, before.current);
}

TEST_F(Keys, AreRevokedByARotationAndTheRemovalOfThePreviousOne) {
  SecretKeys keys = replica();
  keys.refresh(true);
  const crypto::KeyRing revoked = *keys.keys();
  server_.secret["metadata"]["annotations"].erase("evacuator.dev/rotated-at");
  later(keys, SecretKeys::kLookEvery);
  EXPECT_NE(keys.keys()->find(revoked.current.id()), nullptr);
  server_.secret["data"].erase("previous");
  later(keys, SecretKeys::kLookEvery);
  EXPECT_EQ(keys.keys()->find(revoked.current.id()), nullptr);
}

struct NonsenseCase {
  const char* name;
  Json data;
  const char* want;
};
class Nonsense : public Keys, public testing::WithParamInterface<NonsenseCase> {};
TEST_P(Nonsense, IsReportedAndNotOverwritten) {
  server_.store({{"metadata", {{"name", "evacuator-signing"}}}, {"data", GetParam().data}});
  const Json before = server_.secret;
  SecretKeys keys = replica();
  keys.refresh(true);
  EXPECT_EQ(keys.keys(), nullptr);
  EXPECT_NE(keys.problem().find(GetParam().want), std::string::npos) << keys.problem();
  EXPECT_EQ(server_.secret, before);
}
INSTANTIATE_TEST_SUITE_P(
    Secrets, Nonsense,
    testing::Values(NonsenseCase{"Empty", Json::object(), "data.current is missing"},
                    NonsenseCase{"NoObject", Json::array(), "data.current is missing"},
                    NonsenseCase{"NoBase64", {{"current", "%%%"}}, "data.current is not valid Base64"},
                    NonsenseCase{"NoText", {{"current", 7}}, "data.current is not valid Base64"},
                    NonsenseCase{"TooShort", {{"current", "aGVsbG8="}}, "data.current: a key has 32 to 1024 bytes"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(KeysInMemory, AreTheSameForAll) {
  ASSERT_TRUE(process_keys().keys());
  EXPECT_EQ(process_keys().keys(), process_keys().keys());
}

}  // namespace keys_test
