#include <gtest/gtest.h>

#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "test/unit/controllers/evacuation/reconciler_fixture.hpp"

/// Objects that claim an origin or an owner which is not theirs.
namespace evacuation_forged_claims_test {

using namespace evacuation_reconciler_fixture;

/// Keys that were read once and can no longer be read.
class OldKeys final : public controllers::KeySource {
 public:
  void refresh(bool) override {}
  std::shared_ptr<const crypto::KeyRing> keys() const override { return ring; }
  std::string problem() const override { return why; }

  std::shared_ptr<const crypto::KeyRing> ring = std::make_shared<const crypto::KeyRing>(
      crypto::KeyRing{*crypto::Key::from_bytes(std::string(crypto::Key::kBytes, 'o')), {}});
  std::string why = "secrets is forbidden";
};

class ForgedOrigin : public Shell {
 protected:
  static crypto::Key key_of(char filler) { return *crypto::Key::from_bytes(std::string(crypto::Key::kBytes, filler)); }
  static api::Evacuation made(const std::string& uid, base::TimePoint created) {
    api::Evacuation evacuation = make_evacuation();
    evacuation.status = {};
    evacuation = controllers::with_origin(evacuation, key_of('k'), created);
    evacuation.meta.uid = uid;
    evacuation.meta.creation_timestamp = created;
    return evacuation;
  }
};

TEST_F(ForgedOrigin, ASignedObjectMadeAgainWithinTheWindowDoesNotCount) {
  using controllers::OriginProof;
  controllers::OriginMemory memory(clock);
  const crypto::KeyRing known{key_of('k'), {}};
  const api::Evacuation first = made("e-1", kNoon);
  for (int relist = 0; relist < 3; ++relist) {
    api::Evacuation listed = first;
    controllers::update_origin_condition(listed, &known, &memory);
    EXPECT_TRUE(api::origin_is_verified(listed)) << "the same object, however often it is looked at";
  }
  api::Evacuation again = first;
  again.meta.uid = "e-2";
  again.meta.creation_timestamp = kNoon + seconds(5);
  controllers::update_origin_condition(again, &known, &memory);
  EXPECT_FALSE(api::origin_is_verified(again));
  EXPECT_EQ(controllers::prove_origin(again, known, &memory), OriginProof::kOtherObject);
  EXPECT_EQ(controllers::prove_origin(first, known, &memory), OriginProof::kSigned);
  clock.advance(10 * controllers::kOriginWindow);
  EXPECT_EQ(controllers::prove_origin(made("e-3", clock.now()), known, &memory), OriginProof::kSigned);
  EXPECT_EQ(memory.size(), 1U) << "what no signature can count for any more is forgotten";
  controllers::OriginMemory of_the_next_process(clock);
  EXPECT_EQ(controllers::prove_origin(again, known, &of_the_next_process), OriginProof::kSigned)
      << "docs/design/faults.md: the memory is lost with its process";
}

TEST_F(ForgedOrigin, AnUnknownKeyIsNotJudgedWhileTheKeysCannotBeRead) {
  const api::Evacuation signed_elsewhere = controllers::with_origin(make_evacuation(), key_of('n'), kNoon);
  server.evacuation["metadata"]["annotations"][std::string(api::well_known::kOriginAnnotation)] =
      signed_elsewhere.meta.annotations.value(api::well_known::kOriginAnnotation);
  put(signed_elsewhere);
  OldKeys old;
  controllers::evacuation::Reconciler::Dependencies with_old = dependencies(controllers::evacuation::no_audit(), old);
  controllers::evacuation::Reconciler waiting(with_old);
  ASSERT_TRUE(waiting.reconcile(key));
  EXPECT_FALSE(server.evacuation.contains("status") && server.evacuation["status"].contains("conditions"))
      << server.evacuation.dump();
  old.why.clear();
  ASSERT_TRUE(waiting.reconcile(key));
  EXPECT_NE(server.evacuation.dump().find("OriginVerified"), std::string::npos) << "now it is known to be nobody's";
}

class ForeignOwner : public Shell {};

TEST_F(ForeignOwner, APodOfAnotherNamespaceIsNoReplacement) {
  pods.remove({"shop", "web-1"});
  server.pod["metadata"]["uid"] = "its-successor";
  api::Evacuation verifying = make_evacuation();
  verifying.meta.finalizers = {"evacuator.dev/evacuation"};
  verifying.status.phase = EvacuationPhase::kVerifying;
  verifying.status.attempt = 1;
  verifying.status.token = "e5b3.1";
  verifying.status.evictor = "eviction-api";
  verifying.status.phase_entered_at = verifying.status.attempt_started_at = kNoon;
  verifying.status.deadline = kNoon + seconds(600);
  verifying.status.outcome = api::EvacuationOutcome{api::OutcomeKind::kEvicted, {}, {}};
  verifying.status.pod_owner = api::OwnerReference{"apps/v1", "ReplicaSet", "web", "rs-1", true};
  server.evacuation["metadata"]["finalizers"] = {"evacuator.dev/evacuation"};
  server.evacuation["status"] = api::encode_status(verifying.status);
  put(verifying);
  api::Pod foreign = make_pod({}, "uid-foreign", "claims-to-be-it");
  foreign.meta.ns = "attacker";
  foreign.meta.owner_references = {{"apps/v1", "ReplicaSet", "web", "rs-1", true}};
  foreign.meta.creation_timestamp = kNoon + seconds(1);
  foreign.node_name = {"node-b"};
  foreign.phase = api::PodPhase::kRunning;
  foreign.conditions = {{"Ready", api::ConditionStatus::kTrue, "", "", 0, {}}};
  pods.put(std::make_shared<const api::Pod>(foreign));
  EXPECT_TRUE(reconciler.keys_for_pod(foreign).empty()) << "it wakes nobody";
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Verifying");
  EXPECT_FALSE(server.evacuation["status"]["outcome"].contains("replacement"));
  api::Pod own = foreign;
  own.meta.ns = "shop";
  EXPECT_EQ(reconciler.keys_for_pod(own), std::vector<api::ObjectKey>{key});
}

}  // namespace evacuation_forged_claims_test
