#include "controllers/admission/entry.hpp"

#include <gtest/gtest.h>

namespace controllers {
namespace admission_entry_test {

using Entry = AdmissionEntry;
using Held = AdmissionEntry::Held;

const AdmissionOrder kOrder{0, false, base::TimePoint{}, api::ObjectKey{"shop", "a"}};

struct EntryCase {
  const char* name;
  Entry::Turn turn;
  std::variant<Held, Entry::Abandoned> stored;
  Held want_held;
  bool want_slot = false;   ///< whether its attempt may begin
  bool want_place = false;  ///< whether it has its own place in the waiting line
};

class AdmissionEntries : public testing::TestWithParam<EntryCase> {};

TEST_P(AdmissionEntries, CountByWhatTheyHold) {
  const EntryCase& c = GetParam();
  Entry entry;
  entry.turn = c.turn;
  entry.stored = c.stored;
  EXPECT_EQ(entry.held(), c.want_held);
  EXPECT_EQ(entry.has_slot(), c.want_slot);
  EXPECT_EQ(entry.place() != nullptr, c.want_place);
}

INSTANTIATE_TEST_SUITE_P(
    States, AdmissionEntries,
    testing::Values(EntryCase{"Idle", Entry::Idle{}, Held::kNothing, Held::kNothing},
                    EntryCase{"Verifying", Entry::Idle{}, Held::kArrival, Held::kArrival},
                    EntryCase{"Running", Entry::Idle{}, Held::kSlot, Held::kSlot, true},
                    EntryCase{"Waiting", Entry::Waiting{1, {kOrder}}, Held::kNothing, Held::kNothing, false, true},
                    EntryCase{"WaitingForItsPodGroup", Entry::WaitingWithPodGroup{}, Held::kNothing, Held::kNothing},
                    EntryCase{"FirstOfItsPodGroup", Entry::WaitingWithPodGroup{1, Entry::Place{kOrder}}, Held::kNothing,
                              Held::kNothing, false, true},
                    EntryCase{"Reserved", Entry::Reserved{1, true}, Held::kNothing, Held::kSlot, true},
                    EntryCase{"ReservedWhileItsLastAttemptEnds", Entry::Reserved{2, false}, Held::kSlot, Held::kSlot,
                              true},
                    EntryCase{"Abandoned", Entry::Idle{}, Entry::Abandoned{"7"}, Held::kNothing}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(AdmissionEntry, IsIdleWithoutAPlaceUnlessItRequestsWithAPodGroup) {
  Entry alone;
  alone.turn = Entry::Waiting{3, {kOrder}};
  EXPECT_EQ(alone.wanted_attempt(), 3);
  alone.lose_place();
  EXPECT_TRUE(alone.is_idle());

  Entry member;
  member.turn = Entry::WaitingWithPodGroup{2, Entry::Place{kOrder}};
  member.lose_place();
  EXPECT_TRUE(member.asks_with_pod_group());
  EXPECT_EQ(member.wanted_attempt(), 2);
  EXPECT_EQ(member.place(), nullptr);
}

}  // namespace admission_entry_test
}  // namespace controllers
