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

/// Creates the Evacuations of a plan concurrently, each signed as the operator's own. create() must be called by one
/// thread at a time; it calls the functions in Dependencies from several threads.
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
    OnceRun* once = nullptr;  ///< notified of each creation; may be nullptr
    /// Called before each creation, because thousands of them take minutes. Returns false to skip the rest of the plan.
    std::function<bool(const api::DeschedulerPolicy&)> may_go_on;
    std::function<void()> progress;  ///< called after each creation, and while a creator waits
  };

  explicit EvacuationCreator(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  /// Sets the number of Evacuations created concurrently, otherwise in the order of the plan. Default 1. REQUIRES:
  /// `creators` is at least 1; create() is not running.
  void set_creators(int creators) { creators_ = creators; }
  /// Sets the function that sleeps before a retry of a 429 and returns false on shutdown. By default retries are
  /// immediate. REQUIRES: create() is not running.
  void set_pause(std::function<bool(base::Duration)> pause) { pause_ = std::move(pause); }

  /// Creates the Evacuations of all moves that are due now. Updates `outcome`: counts, namespaces that refused,
  /// problems and warnings.
  void create(const api::DeschedulerPolicy& policy, CycleOutcome& outcome);

 private:
  void create_all(const api::DeschedulerPolicy& policy, const crypto::Key& key, CycleOutcome& outcome);
  bool is_refused(const std::string& ns, const CycleOutcome& outcome);
  bool create_one(const api::DeschedulerPolicy& policy, const api::PlannedMove& move, const api::Evacuation& evacuation,
                  const crypto::Key& key, CycleOutcome& outcome);
  void remove_expired(const api::ObjectKey& key) const;
  bool waits_after_throttling(const api::DeschedulerPolicy& policy, const base::Error& error, int tries);
  bool note_created(const api::Evacuation& wanted, const base::Result<std::string>& made, base::TimePoint sent,
                    CycleOutcome& outcome);
  bool note_refused(const api::Evacuation& wanted, const base::Error& error, CycleOutcome& outcome) const;
  bool clocks_agree(base::TimePoint sent, std::string_view made, CycleOutcome& outcome);

  Dependencies deps_;
  int creators_ = 1;
  std::function<bool(base::Duration)> pause_;
  std::mutex creating_;        ///< guards the result of creations
  base::Duration paused_{};    ///< total waiting time of all creators in this cycle; guarded by creating_
  std::string clock_warning_;  ///< from the newest created Evacuation; empty if the clocks agree
};

}  // namespace controllers
