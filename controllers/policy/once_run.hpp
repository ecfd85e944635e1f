#pragma once

/// Runs one cycle of each policy and follows the policies' Evacuations to their ends, for `evacuator run --once`.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "api/meta/object_meta.hpp"

namespace controllers {

struct CycleOutcome;
struct ObservedPolicy;

/// Result of one policy's cycle.
struct OnceCycle {
  std::string policy;
  std::string text;       ///< human-readable, one line
  bool has_run = false;   ///< false if it could not or should not run; `text` has the reason
  bool is_fault = false;  ///< whether something must be fixed
};

/// Progress of a run. Lists are ordered by name and truncated.
struct OnceReport {
  std::vector<OnceCycle> cycles;
  std::vector<std::string> waiting_policies;  ///< policies whose cycle has not run yet
  std::vector<std::string> unfinished;        ///< Evacuations with phase and reason
  std::vector<std::string> failed;            ///< Evacuations with reason and message
  std::int64_t unfinished_count = 0;
  std::int64_t failed_count = 0;
  std::int64_t succeeded_count = 0;
  std::int64_t cancelled_count = 0;
  std::int64_t suspended_count = 0;  ///< wait for approval; the run does not wait for them
  bool is_tidy = false;              ///< no soft taint remains to be removed from a node

  bool is_done() const { return waiting_policies.empty() && unfinished_count == 0; }
  /// Result of the run, once it is done or has timed out.
  bool is_success() const;
};
/// Human-readable text: a line per policy, and the results of the Evacuations. Ends with a line break.
std::string to_text(const OnceReport& report);

/// Collects an OnceReport. Thread-safe.
class OnceRun {
 public:
  /// Whether the policy's cycle has run, so that no other is due.
  bool has_cycled(const std::string& uid) const;
  void on_cycle(const api::ObjectMeta& policy, const CycleOutcome& outcome, std::string_view why_it_moves_nothing,
                bool is_fault = false);
  /// Reports that no cycle runs in the current state. A later call for the policy, or of on_cycle(), replaces it.
  void on_no_cycle(const api::ObjectMeta& policy, std::string_view why, bool is_fault);
  /// Reports that an Evacuation of a plan was created. The run waits for it, though no cache shows it yet.
  void on_created(const api::ObjectKey& key);
  /// Reports a cache event; `after` is nullptr if the Evacuation is gone.
  void on_evacuation(const api::Evacuation* before, const api::Evacuation* after);

  /// `policies`: all existing policies.
  OnceReport report(const std::vector<std::shared_ptr<const ObservedPolicy>>& policies) const;

 private:
  void finish(const api::Evacuation& ended);

  mutable std::mutex mutex_;
  // All members below are guarded by mutex_.
  std::map<std::string, OnceCycle> cycles_;           ///< by UID
  std::set<api::ObjectKey> unseen_;                   ///< created, but not in a cache yet
  std::set<api::ObjectKey> seen_;                     ///< all that were ever in a cache
  std::map<api::ObjectKey, std::string> unfinished_;  ///< of policies, with their progress
  std::set<api::ObjectKey> suspended_;                ///< wait for approval
  std::map<api::ObjectKey, std::string> failed_;      ///< first failed ones
  std::int64_t failed_count_ = 0, succeeded_count_ = 0, cancelled_count_ = 0;
};

}  // namespace controllers
