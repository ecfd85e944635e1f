#include "controllers/operator/audit_trail.hpp"

#include "api/origin.hpp"
#include "api/vocabulary/blockers.hpp"
#include "controllers/admission/request.hpp"
#include "controllers/evacuation/audit_records.hpp"

namespace controllers {

AuditTrail::AuditTrail(audit::Recorder& recorder, GenerationOf generation_of, bool stops_admissions)
    : recorder_(recorder), generation_of_(std::move(generation_of)), stops_admissions_(stops_admissions) {}

void AuditTrail::send(audit::Record record, const api::Evacuation& evacuation, base::TimePoint now) {
  record.time = now;
  const std::string& policy = api::policy_of(evacuation);
  if (!policy.empty()) record.policy.generation = generation_of_(policy);
  // Evacuations made by the operator name their creator in the origin.
  const std::string creator = creator_of_ && policy.empty() ? creator_of_(evacuation) : std::string();
  if (!creator.empty()) record.detail["creator"] = creator;
  recorder_.record(std::move(record));
}

void AuditTrail::on_status(const api::Evacuation& before, const api::Evacuation& after, base::TimePoint now) {
  for (audit::Record& record : evacuation::records_of_status(before, after)) send(std::move(record), after, now);
}

void AuditTrail::on_answer(const api::Evacuation& evacuation, const evictors::Action& action,
                           const evictors::CallResult& answer, const std::optional<api::LastResponse>& meaning,
                           base::TimePoint now) {
  send(evacuation::record_of_answer(evacuation, action, answer, meaning), evacuation, now);
}

void AuditTrail::on_refused_write(const api::Evacuation& evacuation, const std::string& problem, base::TimePoint now) {
  send(evacuation::record_of_refused_write(evacuation, problem), evacuation, now);
}

void AuditTrail::on_taken_over(const api::Evacuation& evacuation, base::TimePoint now) {
  send(evacuation::record_of_takeover(evacuation), evacuation, now);
}

std::optional<api::Blocker> AuditTrail::admission_blocker() const {
  const std::scoped_lock lock(mutex_);
  return blocker_;
}

void AuditTrail::set_failure(const std::optional<base::Error>& failure, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  failing_ = failure ? failure->message : std::string();
  blocker_.reset();
  if (!failure || !stops_admissions_) return;
  blocker_.emplace();
  blocker_->kind = to_string(api::BlockerKind::kAuditLog);
  blocker_->name = "audit log";
  blocker_->message = "no Evacuations are admitted while the audit log cannot be written: " + failure->message;
  blocker_->since = now;
}

std::string AuditTrail::failing() const {
  const std::scoped_lock lock(mutex_);
  return failing_;
}

void AuditTrail::on_planned(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome) {
  std::vector<audit::Record> news;
  {
    const std::scoped_lock lock(mutex_);
    news = news_of_cycle(policy, outcome, last_cycles_[policy.meta.name]);
  }
  for (audit::Record& record : news) recorder_.record(std::move(record));
}

void AuditTrail::forget(const std::string& policy) {
  const std::scoped_lock lock(mutex_);
  last_cycles_.erase(policy);
}

}  // namespace controllers
