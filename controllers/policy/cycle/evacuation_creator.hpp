#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "controllers/evacuation/origin/keys.hpp"
#include "controllers/policy/audit.hpp"
#include "controllers/policy/cycle/cycle_traces.hpp"
#include "controllers/policy/decide.hpp"
#include "kube/client.hpp"
#include "kube/runtime/store.hpp"

namespace controllers {

class OnceRun;

/// Makes the Evacuations of a plan, several at a time, each signed as the operator's own. create() is called by one
/// thread at a time; it calls all that Dependencies name from several.
class EvacuationCreator {
 public:
  struct Dependencies {
    kube::Client& client;
    const base::Clock& clock;
    const kube::Store<api::Evacuation>& evacuations;
    KeySource& keys;
    PolicyAudit& audit;
    base::Log log;
    const CycleTraces& traces;
    OnceRun* once = nullptr;  ///< told of each that is made; nullptr: nobody is
    /// Asked before each creation: thousands of them take minutes. False: the rest of the plan is given up.
    std::function<bool(const api::DeschedulerPolicy&)> may_go_on;
    std::function<void()> progress;  ///< told after each creation, and while one waits
  };

  explicit EvacuationCreator(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  /// So many are created at a time from here on, in the order of the plan but for these; until then one. At least 1.
  /// REQUIRES: not while create() runs.
  void set_creators(int creators) { creators_ = creators; }
  /// How one waits until a server that has too much to do (429) takes more; false: shutting down, give up. Until then
  /// it tries again at once. REQUIRES: not while create() runs.
  void set_pause(std::function<bool(base::Duration)> pause) { pause_ = std::move(pause); }

  /// Those moves of the plan that are made now. What came of it is in the outcome: its counts, the namespaces that
  /// refused, problems and warnings.
  void create(const api::DeschedulerPolicy& policy, CycleOutcome& outcome);

 private:
  void create_all(const api::DeschedulerPolicy& policy, const signing::Key& key, CycleOutcome& outcome);
  bool is_refused(const std::string& ns, const CycleOutcome& outcome);
  bool create_one(const api::DeschedulerPolicy& policy, const api::PlannedMove& move, const api::Evacuation& evacuation,
                  const signing::Key& key, CycleOutcome& outcome);
  void remove_expired(const api::ObjectKey& key) const;
  bool waits_for_turn(const api::DeschedulerPolicy& policy, const base::Error& error, int tries);
  bool note_created(const api::Evacuation& wanted, const base::Result<std::string>& made, base::TimePoint sent,
                    CycleOutcome& outcome);
  bool note_refused(const api::Evacuation& wanted, const base::Error& error, CycleOutcome& outcome) const;
  bool clocks_agree(base::TimePoint sent, std::string_view made, CycleOutcome& outcome);

  Dependencies deps_;
  int creators_ = 1;
  std::function<bool(base::Duration)> pause_;
  std::mutex creating_;        ///< held by the creators while they write down what came of it
  base::Duration paused_{};    ///< guarded by creating_: what all creators have waited in this cycle
  std::string clock_warning_;  ///< of the newest Evacuation that was made; empty: the clocks agree
};

}  // namespace controllers
