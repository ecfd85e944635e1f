#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "controllers/evacuation/ports.hpp"
#include "controllers/policy/audit_records.hpp"
#include "controllers/policy/ports.hpp"
#include "telemetry/audit/log.hpp"

namespace controllers {

/// Writes the decisions of both reconcilers to the audit log. Pure functions choose the words of the records
/// (controllers/evacuation/audit_records.hpp, controllers/policy/audit_records.hpp). Thread-safe.
class AuditTrail final : public evacuation::Audit, public PolicyAudit {
 public:
  /// Returns the generation of a policy that is in force, or 0 if unknown.
  using GenerationOf = std::function<std::int64_t(const std::string& policy)>;

  /// `recorder` must outlive this object. If `stops_admissions`, admission_blocker() is set while the log fails.
  AuditTrail(audit::Recorder& recorder, GenerationOf generation_of, bool stops_admissions);

  void on_status(const api::Evacuation& before, const api::Evacuation& after, base::TimePoint now) override;
  void on_answer(const api::Evacuation& evacuation, const evictors::Action& action, const evictors::CallResult& answer,
                 const std::optional<api::LastResponse>& meaning, base::TimePoint now) override;
  void on_refused_write(const api::Evacuation& evacuation, const std::string& problem, base::TimePoint now) override;
  std::optional<api::Blocker> admission_blocker() const override;

  void on_planned(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) override;
  void on_created(const api::DeschedulerPolicy& policy, const api::PlannedMove& move, const api::Evacuation& evacuation,
                  const base::Error* error) override {
    recorder_.record(record_of_creation(policy, move, evacuation, error));
  }
  void on_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) override {
    recorder_.record(record_of_cycle(policy, outcome));
  }
  void on_invalid(const api::ObjectMeta& policy, std::string_view problem) override {
    recorder_.record(record_of_invalid(policy, problem));
  }
  void forget(const std::string& policy) override;
  std::string failing() const override;

  /// Returns the user who created a manual Evacuation, or an empty string if unknown. Records contain this user. Call
  /// name_creators_with() before the first record.
  using CreatorOf = std::function<std::string(const api::Evacuation&)>;
  void name_creators_with(CreatorOf creator_of) { creator_of_ = std::move(creator_of); }

  /// Records the current state of an Evacuation that this replica takes over and has not seen before.
  void on_taken_over(const api::Evacuation& evacuation, base::TimePoint now);
  /// Handles the health reports of audit::Recorder::watch().
  void set_failure(const std::optional<base::Error>& failure, base::TimePoint now);

 private:
  void send(audit::Record record, const api::Evacuation& evacuation, base::TimePoint now);

  audit::Recorder& recorder_;
  const GenerationOf generation_of_;
  const bool stops_admissions_;
  CreatorOf creator_of_;
  mutable std::mutex mutex_;
  std::string failing_;  ///< Empty while the log can be written
  std::optional<api::Blocker> blocker_;
  std::map<std::string, CycleMemory> last_cycles_;  ///< By policy name
};

}  // namespace controllers
