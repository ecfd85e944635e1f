#include "test/integration/rig/crash.hpp"
#include "test/integration/rig/kubevirt_stage.hpp"

/// Scenario 44 on scenario 16: the process crashes at each API call of a migration and of a cancelled one, before or
/// after the server carried it out, and another one takes over.
namespace kubevirt_crash_test {

using fakes::Death;
using integration::KubeVirtStage;
using Phase = api::EvacuationPhase;

struct VmEnding {
  Phase phase = Phase::kPending;
  std::string reason;
  std::int32_t attempt = 0;
  std::string rollback;
  bool moved = false;
  bool marked = false;
  std::size_t migrations = 0;
  std::size_t running = 0;
  friend bool operator==(const VmEnding&, const VmEnding&) = default;
};

void PrintTo(const VmEnding& ending, std::ostream* out) {
  *out << api::to_string(ending.phase) << "/" << ending.reason << " attempt " << ending.attempt << " rollback "
       << ending.rollback << (ending.moved ? " moved" : " stays") << (ending.marked ? " marked" : "") << ", "
       << ending.migrations << " migrations, " << ending.running << " running";
}

class VmPlay final : public KubeVirtStage {
 public:
  void TestBody() override {}

  int run(const std::string& script, int die_at, Death how, bool cancel_half_way) {
    begin();
    const std::string pod = machine("db", script);
    const std::string source = node_of("db");
    const std::string name = evacuate(pod);
    const int before = replica->transport.calls();
    if (die_at >= 0) replica->transport.die_in(die_at, how);
    bool cancelled = !cancel_half_way;
    run_to_end_over_deaths({name}, std::chrono::hours(2), [&] {
      if (cancelled || migration_phase() != "Running" || phase(name) != Phase::kInProgress) return;
      cancelled = true;
      cancel(name);
    });
    const auto status = get(name).status;
    ending = {status.phase,
              status.reason,
              status.attempt,
              condition(name, "RollbackComplete"),
              node_of("db") != source,
              !mark("db").empty(),
              migrations().size(),
              running_migrations()};
    return replica->transport.calls() - before;
  }

  VmEnding ending;
};

void die_everywhere(const std::string& script, Phase wanted, bool cancel_half_way) {
  VmPlay calm;
  const int calls = calm.run(script, -1, Death::kBeforeTheCall, cancel_half_way);
  ASSERT_EQ(calm.ending.phase, wanted);
  ASSERT_GT(calls, 8);
  integration::die_at_every_call(calls, [&](int at, Death how) {
    VmPlay play;
    play.run(script, at, how, cancel_half_way);
    EXPECT_EQ(play.ending, calm.ending);
  });
}

TEST(KubeVirtCrash, S44_AtEveryCallOfScenario16) { die_everywhere("run=4s", Phase::kSucceeded, false); }
TEST(KubeVirtCrash, S44_AtEveryCallOfACancel) { die_everywhere("run=600s, abort=2s", Phase::kCancelled, true); }

}  // namespace kubevirt_crash_test
