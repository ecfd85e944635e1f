#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "api/descheduler_policy.hpp"
#include "base/result.hpp"
#include "controllers/policy/cycle/cycle_trace.hpp"
#include "controllers/policy/ports.hpp"

namespace controllers {

/// Creates the Evacuations of a plan concurrently, each signed as the operator's own. create() must be called by one
/// thread at a time; it calls the functions of the ports from several threads.
class EvacuationCreator {
 public:
  /// `may_go_on` is called before each creation, because thousands of them take minutes, and returns false to skip the
  /// rest. `progress` is called after each creation and while a creator waits. References must outlive this object.
  EvacuationCreator(const PolicyPorts& ports, const CycleTraces& traces,
                    std::function<bool(const api::DeschedulerPolicy&)> may_go_on, std::function<void()> progress)
      : ports_(ports), traces_(traces), may_go_on_(std::move(may_go_on)), progress_(std::move(progress)) {}

  /// Sets the number of Evacuations created concurrently, otherwise in the order of the plan. Default 1. REQUIRES:
  /// `creators` is at least 1; create() is not running.
  void set_creators(int creators) { creators_ = creators; }
  /// Sets the function that sleeps before a retry of a 429 and returns false on shutdown. By default retries are
  /// immediate. REQUIRES: create() is not running.
  void set_pause(std::function<bool(base::Duration)> pause) { pause_ = std::move(pause); }

  /// Creates the Evacuations of all moves that are due now. Updates counts, refusals and problems in `outcome`.
  void create(const api::DeschedulerPolicy& policy, CycleOutcome& outcome);

 private:
  void create_all(const api::DeschedulerPolicy& policy, const crypto::Key& key, CycleOutcome& outcome);
  bool create_one(const api::DeschedulerPolicy& policy, const api::PlannedMove& move, const api::Evacuation& evacuation,
                  const crypto::Key& key, CycleOutcome& outcome);
  bool waits_after_throttling(const api::DeschedulerPolicy& policy, const base::Error& error, int tries);
  bool note_created(const api::Evacuation& wanted, const base::Result<std::string>& made, base::TimePoint sent,
                    CycleOutcome& outcome);
  bool clocks_agree(base::TimePoint sent, std::string_view made, CycleOutcome& outcome);

  const PolicyPorts& ports_;
  const CycleTraces& traces_;
  const std::function<bool(const api::DeschedulerPolicy&)> may_go_on_;
  const std::function<void()> progress_;
  int creators_ = 1;
  std::function<bool(base::Duration)> pause_;
  std::mutex creating_;        ///< guards the result of creations
  base::Duration paused_{};    ///< total waiting time of all creators in this cycle; guarded by creating_
  std::string clock_warning_;  ///< from the newest created Evacuation; empty if the clocks agree
};

}  // namespace controllers
