#pragma once

/// One cycle of each policy, and the Evacuations of policies followed to their ends: what `evacuator run --once` is.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "api/meta/object_meta.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers {

/// What came of one policy.
struct OnceCycle {
  std::string policy;
  std::string text;       ///< for people, one line
  bool has_run = false;   ///< false: it could not, or was not meant to; `text` says why
  bool is_fault = false;  ///< something has to be put right
};

/// How a run stands. Lists are in the order of names; the longest are cut.
struct OnceReport {
  std::vector<OnceCycle> cycles;
  std::vector<std::string> waiting_policies;  ///< whose cycle has not run yet
  std::vector<std::string> unfinished;        ///< Evacuations, with phase and reason
  std::vector<std::string> failed;            ///< Evacuations, with reason and message
  std::int64_t unfinished_count = 0;
  std::int64_t failed_count = 0;
  std::int64_t succeeded_count = 0;
  std::int64_t cancelled_count = 0;
  std::int64_t suspended_count = 0;  ///< wait for a person: the run does not
  bool is_tidy = false;              ///< nothing that was put on nodes waits to be taken away

  bool is_done() const { return waiting_policies.empty() && unfinished_count == 0; }
  /// What it ends with, once it is done or out of time.
  bool is_success() const;
};
/// For people: a line for each policy, and what became of the Evacuations. Ends with a line break.
std::string to_text(const OnceReport& report);

/// Collects that. All methods may be called by any thread.
class OnceRun {
 public:
  /// Its cycle has run: no other one is due.
  bool has_cycled(const std::string& uid) const;
  void on_cycle(const api::ObjectMeta& policy, const CycleOutcome& outcome, std::string_view why_it_moves_nothing,
                bool is_fault = false);
  /// It has none as things are. A later call for the same policy, also of on_cycle(), wins.
  void on_no_cycle(const api::ObjectMeta& policy, std::string_view why, bool is_fault);
  /// One of a plan was made: it is waited for, though no cache shows it yet.
  void on_created(const api::ObjectKey& key);
  /// As the cache shows it: `after` is nullptr when it is gone.
  void on_evacuation(const api::Evacuation* before, const api::Evacuation* after);

  /// `policies`: those that there are.
  OnceReport report(const std::vector<std::shared_ptr<const ObservedPolicy>>& policies) const;

 private:
  void finish(const api::Evacuation& ended);

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::map<std::string, OnceCycle> cycles_;           ///< by UID
  std::set<api::ObjectKey> unseen_;                   ///< made, and in no cache yet
  std::set<api::ObjectKey> seen_;                     ///< ever
  std::map<api::ObjectKey, std::string> unfinished_;  ///< of policies, with how they stand
  std::set<api::ObjectKey> suspended_;                ///< those that wait for a person
  std::map<api::ObjectKey, std::string> failed_;      ///< the first of them
  std::int64_t failed_count_ = 0, succeeded_count_ = 0, cancelled_count_ = 0;
};

}  // namespace controllers
