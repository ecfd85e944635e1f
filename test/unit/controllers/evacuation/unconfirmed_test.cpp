#include "controllers/evacuation/unconfirmed.hpp"

#include <gtest/gtest.h>

/// Which records are due once an object shows status writes whose answers were lost.
namespace unconfirmed_test {

using api::EvacuationPhase;
using controllers::evacuation::UnconfirmedWrite;
using controllers::evacuation::UnconfirmedWrites;

api::Evacuation at(const char* version, EvacuationPhase phase) {
  api::Evacuation evacuation;
  evacuation.meta.ns = "shop";
  evacuation.meta.name = "web-1";
  evacuation.meta.uid = "e5b3";
  evacuation.meta.resource_version = version;
  evacuation.status.phase = phase;
  return evacuation;
}

/// Returns a write on top of `before`, identified by its only event.
UnconfirmedWrite write(const api::Evacuation& before, EvacuationPhase to, const char* name) {
  UnconfirmedWrite made{before, before.status, {}};
  made.after.phase = to;
  made.events.emplace_back().reason = name;
  return made;
}

std::string taken(UnconfirmedWrites& writes, const api::Evacuation& stored) {
  std::string names;
  for (const UnconfirmedWrite& each : writes.take_shown(stored)) names += each.events.at(0).reason;
  return names;
}

const api::Evacuation kFirst = at("1", EvacuationPhase::kPending);

TEST(UnconfirmedWrites, OfTwoOnTheSameVersionTheVisibleOneIsTaken) {
  for (const auto& [phase, want] : {std::pair(EvacuationPhase::kPreparing, "a"), {EvacuationPhase::kCancelled, "b"}}) {
    UnconfirmedWrites writes;
    writes.note(write(kFirst, EvacuationPhase::kPreparing, "a"));
    writes.note(write(kFirst, EvacuationPhase::kCancelled, "b"));
    EXPECT_EQ(taken(writes, kFirst), "") << "neither has arrived yet";
    EXPECT_EQ(taken(writes, at("2", phase)), want);
    EXPECT_EQ(taken(writes, at("2", phase)), "") << "once";
  }
}

TEST(UnconfirmedWrites, PredecessorsOfTheVisibleWriteComeFirst) {
  UnconfirmedWrites writes;
  writes.note(write(kFirst, EvacuationPhase::kPreparing, "a"));
  writes.note(write(at("2", EvacuationPhase::kPreparing), EvacuationPhase::kRequesting, "b"));
  EXPECT_EQ(taken(writes, at("3", EvacuationPhase::kRequesting)), "ab");
}

TEST(UnconfirmedWrites, AWriteOnTopOfTheVisibleVersionMayStillArrive) {
  UnconfirmedWrites writes;
  writes.note(write(kFirst, EvacuationPhase::kPreparing, "a"));
  writes.note(write(at("2", EvacuationPhase::kPreparing), EvacuationPhase::kRequesting, "b"));
  EXPECT_EQ(taken(writes, at("2", EvacuationPhase::kPreparing)), "a");
  EXPECT_EQ(taken(writes, at("3", EvacuationPhase::kRequesting)), "b");
}

TEST(UnconfirmedWrites, AreBoundedAndNeverOfAnotherObject) {
  UnconfirmedWrites writes;
  writes.note(write(kFirst, EvacuationPhase::kPreparing, "a"));
  api::Evacuation remade = at("2", EvacuationPhase::kPreparing);
  remade.meta.uid = "other";
  EXPECT_EQ(taken(writes, remade), "");
  for (std::size_t i = 0; i < UnconfirmedWrites::kMaxUnconfirmed; ++i)
    writes.note(write(kFirst, EvacuationPhase::kCancelled, "b"));
  EXPECT_EQ(taken(writes, at("2", EvacuationPhase::kPreparing)), "") << "the oldest has made room";
}

}  // namespace unconfirmed_test
