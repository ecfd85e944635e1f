#include "test/integration/rig/kubevirt_stage.hpp"

/// Scenario 45: at each API call of an Evacuation the caches receive no events for a minute, so each decision is made
/// once on stale data. The result must equal that of an undisturbed run.
namespace stale_cache_test {

using api::Json;
using base::seconds;
using integration::KubeVirtStage;
using integration::Rig;
using Annotations = std::vector<std::pair<std::string, std::string>>;
using Phase = api::EvacuationPhase;

constexpr int kNever = -1;

struct StaleEnding {
  Phase phase = Phase::kPending;
  std::string reason;
  std::int32_t attempt = 0;
  std::string replaced;  ///< condition ReplacementReady
  bool other_pod = false;
  std::size_t calls_to_evict = 0;
  std::size_t migrations = 0;
  friend bool operator==(const StaleEnding&, const StaleEnding&) = default;
};

void PrintTo(const StaleEnding& ending, std::ostream* out) {
  *out << api::to_string(ending.phase) << "/" << ending.reason << " attempt " << ending.attempt << ", "
       << ending.replaced << (ending.other_pod ? " by another pod, " : " by nobody, ") << ending.calls_to_evict
       << " evictions, " << ending.migrations << " migrations";
}

template <typename Stage>
class StalePlay : public Stage {
 public:
  void TestBody() override {}

  StaleEnding ending;

 protected:
  /// Runs the Evacuation to its end. From call number `at` on the caches receive no events for a minute. Returns the
  /// number of calls.
  int play(const std::string& name, int at) {
    int calls = 0;
    base::TimePoint until{};
    auto& stale = *this->replica;
    const std::string uid = this->get(name).spec.pod_ref.uid.value;
    stale.transport.before_each_call = [&](const kube::Request&) {
      if (calls++ != at) return;
      stale.informers_frozen = true;
      until = this->clock.now() + seconds(60);
    };
    this->run_until(
        [&] {
          complete_post(name);
          if (this->clock.now() >= until) stale.informers_frozen = false;
          const auto now = this->find(name);
          return now && api::is_terminal(now->status.phase) && now->meta.finalizers.empty();
        },
        std::chrono::hours(2));
    stale.transport.before_each_call = nullptr;
    const auto status = this->get(name).status;
    const auto replacement = status.outcome ? status.outcome->replacement : std::nullopt;
    ending = {status.phase,
              status.reason,
              status.attempt,
              this->condition(name, "ReplacementReady"),
              replacement && replacement->uid != uid && this->pod_exists(replacement->name),
              this->evictions().size(),
              this->cluster->store().list(kube::kVmims, "shop").size()};
    if (ending.replaced == "SameNode") ending.replaced = "Ready";  // depends on the scheduler's choice
    return calls;
  }

 private:
  /// Completes the post phase in place of the workload's operator.
  void complete_post(const std::string& name) {
    const auto now = this->find(name);
    if (completed_ || !now || now->status.phase != Phase::kVerifying) return;
    completed_ = true;
    this->edit(kube::kEvacuations, name, [](Json& object) {
      for (Json& each : object["status"]["conditions"]) {
        if (each["type"] == "PostCompleted") each["status"] = "True";
      }
    });
  }
  bool completed_ = false;
};

class StalePods final : public StalePlay<Rig> {
 public:
  int run(const Annotations& annotations, int at) {
    stage(3, annotations);
    start_operator();
    return play(evacuate(pods().front()), at);
  }
};

class StalePodsOfOperator final : public StalePlay<Rig> {
 public:
  int run(const Annotations& annotations, int at) {
    stage(3, annotations);
    start_operator();
    return play(evacuate_as_operator(pods().front()), at);
  }
};

class StaleVms final : public StalePlay<KubeVirtStage> {
 public:
  int run(const std::string& script, int at) {
    begin();
    return play(evacuate(machine("db", script)), at);
  }
};

template <typename Play, typename Stage>
void stale_at_every_call(const Stage& stage) {
  Play calm;
  const int calls = calm.run(stage, kNever);
  ASSERT_EQ(calm.ending.phase, Phase::kSucceeded);
  ASSERT_TRUE(calm.ending.other_pod);
  ASSERT_EQ(calm.ending.calls_to_evict, 1u);
  ASSERT_GE(calls, 3);  // intent, call, end
  for (int at = 0; at < calls; ++at) {
    SCOPED_TRACE("stale from call " + std::to_string(at) + " on");
    Play stale;
    stale.run(stage, at);
    EXPECT_EQ(stale.ending, calm.ending);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(StaleCache, S45_AtEveryCallOfScenario1) { stale_at_every_call<StalePods>(Annotations{}); }

TEST(StaleCache, S45_AtEveryCallOfAPlainEvictionOfTheOperator) {
  stale_at_every_call<StalePodsOfOperator>(Annotations{});
}

TEST(StaleCache, S45_AtEveryCallOfScenario28) {
  stale_at_every_call<StalePods>(Annotations{
      {"handoff.evacuator.dev/mode", "required"},
      {"handoff.evacuator.dev/phases", "pre,migrate,post"},
      {"simulator.evacuator.dev/handoff", "ack=1s, pre-done=3s, progress=4s, heartbeat=10s, ready=8s, aborted=1s"}});
}

TEST(StaleCache, S45_AtEveryCallOfScenario16) { stale_at_every_call<StaleVms>(std::string("run=4s")); }

}  // namespace stale_cache_test
