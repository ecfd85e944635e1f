#include <nlohmann/json.hpp>

#include "simulator/behaviour.hpp"
#include "simulator/eviction_request/native_eviction.hpp"
#include "test/integration/rig/crash.hpp"
#include "test/integration/rig/rig.hpp"

/// Scenario 44: the process crashes at each API call of an Evacuation, before or after the server carried it out, and
/// another one takes over. The result must equal that of an undisturbed run, and the pod must be evicted exactly once
/// (invariants I2, I3, I4).
namespace evacuation_crash_test {

using fakes::Death;
using integration::Rig;
using Annotations = std::vector<std::pair<std::string, std::string>>;
using Phase = api::EvacuationPhase;

/// The part of the result that must not depend on crashes: everything except times, history and the attempt counter in
/// the tokens.
struct Ending {
  Phase phase = Phase::kPending;
  std::string reason;
  std::string outcome;
  std::int32_t attempt = 0;
  std::map<std::string, std::string> conditions;  ///< type → status and reason
  std::size_t granted = 0;
  bool finalizers = false;
  friend bool operator==(const Ending&, const Ending&) = default;
};

void PrintTo(const Ending& ending, std::ostream* out) {
  *out << api::to_string(ending.phase) << "/" << ending.reason << " outcome " << ending.outcome << " attempt "
       << ending.attempt << " granted " << ending.granted << (ending.finalizers ? " with finalizers" : "");
  for (const auto& [type, claim] : ending.conditions) *out << "\n    " << type << ": " << claim;
}

class Play final : public Rig {
 public:
  explicit Play(Annotations annotations, bool native = false, bool by_operator = false)
      : annotations_(std::move(annotations)), by_operator_(by_operator) {
    if (!native) return;
    responders = api::Json::array({{{"name", "acme.io/db"}, {"priority", 10000}}});
    simulator::eviction_request::serve(*server);
    simulator::eviction_request::run(*cluster, *server);
  }
  void TestBody() override {}

  /// Crashes at call `die_at`, never if negative. Returns the number of calls of the first process.
  int run(int die_at, Death how, bool cancel_half_way) {
    stage(2, annotations_);
    start_operator("first");
    name_ = by_operator_ ? evacuate_as_operator(pods().front()) : evacuate(pods().front());
    const int calls_before = replica->transport.calls();
    if (die_at >= 0) replica->transport.die_in(die_at, how);
    bool cancelled = !cancel_half_way;
    run_to_end_over_deaths({name_}, std::chrono::hours(2), [&] {
      complete_post();
      if (cancelled || phase(name_) != Phase::kInProgress) return;
      cancelled = true;
      cancel(name_);
    });
    return replica->transport.calls() - calls_before;
  }

  Ending ending() const {
    const api::Evacuation end = get(name_);
    Ending result{end.status.phase, end.status.reason,           "", end.status.attempt, {},
                  granted(),        !end.meta.finalizers.empty()};
    if (end.status.outcome) result.outcome = api::to_string(end.status.outcome->kind);
    for (const auto& each : end.status.conditions) {
      result.conditions[each.type] = std::string(api::to_string(each.status)) + " " + each.reason;
    }
    result.conditions.erase("Progressing");       // the last wait that was observed depends on timing
    result.conditions.erase("ReplacementReady");  // Ready or SameNode depends on the scheduler's choice
    return result;
  }

 private:
  /// Completes the post phase in place of the workload's operator.
  void complete_post() {
    const auto now = find(name_);
    if (completed_ || !now || now->status.phase != Phase::kVerifying) return;
    completed_ = true;
    edit(kube::kEvacuations, name_, [](api::Json& object) {
      for (api::Json& each : object["status"]["conditions"]) {
        if (each["type"] == "PostCompleted") each["status"] = "True";
      }
    });
  }

  const Annotations annotations_;
  const bool by_operator_;
  std::string name_;
  bool completed_ = false;
};

void die_everywhere(const Annotations& annotations, Phase wanted, std::size_t granted, bool cancel_half_way = false,
                    bool native = false, bool by_operator = false) {
  int calls = 0;
  Ending undisturbed;
  {
    Play play(annotations, native, by_operator);
    calls = play.run(-1, Death::kBeforeTheCall, cancel_half_way);
    undisturbed = play.ending();
    ASSERT_EQ(undisturbed.phase, wanted);
    ASSERT_EQ(undisturbed.granted, granted);
  }
  ASSERT_GE(calls, 3);  // intent, call, end
  integration::die_at_every_call(calls, [&](int at, Death how) {
    Play play(annotations, native, by_operator);
    play.run(at, how, cancel_half_way);
    EXPECT_EQ(play.ending(), undisturbed);
  });
}

TEST(Crash, S44_AtEveryCallOfScenario1) { die_everywhere({}, Phase::kSucceeded, 1); }

/// Minimum number of requests: between the two writes the grant is only in memory.
TEST(Crash, S44_AtEveryCallOfAPlainEvictionOfTheOperator) {
  die_everywhere({}, Phase::kSucceeded, 1, false, false, true);
}

/// The grant is stored before the pod has left.
TEST(Crash, S44_AtEveryCallOfASlowPlainEvictionOfTheOperator) {
  die_everywhere({{std::string(simulator::behaviour::kStopSeconds), "20"}}, Phase::kSucceeded, 1, false, false, true);
}

TEST(Crash, S44_AtEveryCallOfScenario28) {
  die_everywhere(
      {{"handoff.evacuator.dev/mode", "required"},
       {"handoff.evacuator.dev/phases", "pre,migrate,post"},
       {"simulator.evacuator.dev/handoff", "ack=1s, pre-done=3s, progress=4s, heartbeat=10s, ready=8s, aborted=1s"}},
      Phase::kSucceeded, 1);
}

TEST(Crash, S44_AtEveryCallOfACancelledHandoff) {
  die_everywhere({{"handoff.evacuator.dev/mode", "required"},
                  {"simulator.evacuator.dev/handoff", "ack=1s, heartbeat=10s, aborted=2s"}},
                 Phase::kCancelled, 0, true);
}

TEST(Crash, S44_AtEveryCallOfScenario39) {
  die_everywhere({{"simulator.evacuator.dev/responders", "evict=8s, heartbeat=10s"}}, Phase::kSucceeded, 0, false,
                 true);
}

}  // namespace evacuation_crash_test
