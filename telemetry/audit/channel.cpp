#include "telemetry/audit/channel.hpp"

#include "telemetry/audit/signed_head.hpp"

#include <fmt/format.h>

namespace audit {
namespace {

Record own_record(std::string_view action, std::string_view reason, base::TimePoint now, const std::string& actor) {
  Record record;
  record.time = now;
  record.actor = actor;
  record.action = action;
  record.object.kind = "AuditLog";
  record.decision = decision::kNoted;
  record.reason = reason;
  return record;
}

}  // namespace

Channel::Channel(std::unique_ptr<Sink> sink, const LogOptions& options, const base::Clock& clock,
                 const base::Clock& steady, base::Metrics& metrics, base::Log log)
    : options_(options),
      clock_(clock),
      steady_(steady),
      log_(std::move(log)),
      written_(metrics.counter("evacuator_audit_records_total", "Number of audit records written.",
                               {{"sink", sink->name()}})),
      failures_(metrics.counter("evacuator_audit_failures_total", "Number of times that an audit sink started to fail.",
                                {{"sink", sink->name()}})),
      lost_total_(metrics.counter("evacuator_audit_lost_total",
                                  "Number of audit records lost because the buffer was full.",
                                  {{"sink", sink->name()}})),
      failing_(metrics.gauge("evacuator_audit_failing", "1 while the audit sink cannot be written.",
                             {{"sink", sink->name()}})),
      buffered_(metrics.gauge("evacuator_audit_buffered", "Number of audit records that wait for a failing sink.",
                              {{"sink", sink->name()}})),
      last_seq_(metrics.gauge("evacuator_audit_last_seq", "Sequence number of the newest audit record.",
                              {{"sink", sink->name()}})),
      sink_(std::move(sink)) {
  const std::scoped_lock lock(mutex_);
  failing_.set(0);
  synced_at_ = steady_.now();
  drain_buffer(clock_.now());
  publish();
}

void Channel::record(const Record& record) {
  const std::scoped_lock lock(mutex_);
  const base::TimePoint now = clock_.now();
  keep(record);
  if (!failure_ || steady_.now() >= next_try_) drain_buffer(now);
  sign_if_due(now, false);
  if (options_.sync_every == base::Duration::zero()) sync(now);
  publish();
}

void Channel::sign_heads(HeadKey key) {
  const std::scoped_lock lock(mutex_);
  key_ = std::move(key);
  sign_if_due(clock_.now(), false);
  publish();
}

void Channel::tick() {
  const std::scoped_lock lock(mutex_);
  const base::TimePoint now = clock_.now();
  if (failure_ && steady_.now() >= next_try_) drain_buffer(now);
  sign_if_due(now, false);
  if (!failure_ && (steady_.now() - synced_at_ >= options_.sync_every)) sync(now);
  publish();
}

void Channel::flush() {
  const std::scoped_lock lock(mutex_);
  const base::TimePoint now = clock_.now();
  if (failure_) drain_buffer(now);
  sign_if_due(now, true);
  sync(now);
  publish();
}

std::optional<base::Error> Channel::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

Head Channel::head() const {
  const std::scoped_lock lock(mutex_);
  return head_;
}

/// Buffers `record`, or counts it as lost if the buffer is full. Keeps the oldest records, because the start of a
/// failure is more informative than its end. Adds the RecordsLost record once the buffer has capacity for it and one
/// more record.
void Channel::keep(const Record& record) {
  if (lost_.count > 0 && buffer_.size() + 2 <= options_.buffer) {
    buffer_.push_back(loss_record());
    lost_ = {};
  }
  if (lost_.count == 0 && buffer_.size() < options_.buffer) {
    buffer_.push_back(record);
    return;
  }
  if (lost_.count++ == 0) lost_.first = record.time;
  lost_.last = record.time;
  lost_total_.increment();
}

Record Channel::loss_record() const {
  Record loss = own_record(action::kRecordsLost, "BufferFull", lost_.last, options_.actor);
  loss.object.name = sink_->name();
  loss.detail = {{"count", std::to_string(lost_.count)},
                 {"from", base::format_micro_time(lost_.first)},
                 {"to", base::format_micro_time(lost_.last)}};
  return loss;
}

void Channel::drain_buffer(base::TimePoint now) {
  if (!is_open_ && !open(now)) return;
  while (!buffer_.empty()) {
    if (!write(buffer_.front())) return;
    buffer_.pop_front();
  }
  if (lost_.count > 0) {
    if (!write(loss_record())) return;
    lost_ = {};
  }
  recover(now);
}

bool Channel::open(base::TimePoint now) {
  const auto opened = sink_->open();
  if (!opened) {
    fail(opened.error(), now);
    return false;
  }
  is_open_ = true;
  const Record opening = opening_record(*opened, now);
  if (!was_open_ && opened->head) head_ = *opened->head;
  was_open_ = true;
  return write(opening);
}

/// Returns the LogOpened record. Its reason says how the chain continues: new, resumed from an earlier process, or
/// recovered after a failure.
Record Channel::opening_record(const Opened& opened, base::TimePoint now) const {
  const bool resumed = opened.head.has_value();
  Record record = own_record(action::kLogOpened,
                             was_open_ ? "Recovered"
                             : resumed ? "Resumed"
                                       : "Started",
                             now, options_.actor);
  record.object.name = sink_->name();
  record.detail["version"] = EVACUATOR_VERSION;
  if (failure_) {
    record.detail["error"] = failure_->message;
    record.detail["failingSince"] = base::format_micro_time(failing_since_);
  }
  if (opened.torn) add_torn_detail(*opened.torn, record);
  // The chain continues from the head in memory. If the sink contains something else, the verifier must report a break
  // here.
  if (was_open_ && resumed && *opened.head != head_) {
    record.reason = "TailChanged";
    record.detail["foundSeq"] = std::to_string(opened.head->seq);
    record.detail["foundHash"] = opened.head->hash;
  }
  return record;
}

bool Channel::write(const Record& record) {
  const Line line = seal(record, head_);
  if (auto written = sink_->append(line); !written) {
    fail(written.error(), clock_.now());
    return false;
  }
  head_ = line.head;
  written_.increment();
  return true;
}

/// Signs the head if a signature is due; with `immediately`, signs any unsigned records. Never signs the same head
/// twice.
void Channel::sign_if_due(base::TimePoint now, bool immediately) {
  if (!key_ || failure_ || !is_open_ || !buffer_.empty() || head_.seq <= signed_seq_) return;
  const bool due = immediately || head_.seq - signed_seq_ >= options_.sign_after ||
                   steady_.now() >= signed_at_ + options_.sign_every;
  const auto key = due ? key_() : std::nullopt;
  if (!key || !write(signed_head(head_, sink_->name(), options_.actor, now, *key))) return;
  signed_seq_ = head_.seq;
  signed_at_ = steady_.now();
  log_.info("audit head signed",
            {base::kv("sink", sink_->name()), base::kv("seq", static_cast<std::int64_t>(head_.seq)),
             base::kv("hash", head_.hash), base::kv("key", key->id())});
}

void Channel::sync(base::TimePoint now) {
  if (failure_ || !is_open_) return;
  synced_at_ = steady_.now();
  // Sync even if nothing was written: it detects a removed file.
  if (auto synced = sink_->sync(); !synced) fail(synced.error(), now);
}

void Channel::fail(base::Error error, base::TimePoint now) {
  is_open_ = false;
  next_try_ = steady_.now() + options_.retry_every;
  if (!failure_) {
    failing_since_ = now;
    failures_.increment();
    failing_.set(1);
    log_.error("the audit log cannot be written; records are kept in memory",
               {base::kv("sink", sink_->name()), base::kv("error", error),
                base::kv("seq", static_cast<std::int64_t>(head_.seq))});
  }
  failure_ = std::move(error);
}

void Channel::recover(base::TimePoint now) {
  if (!failure_) return;
  failure_.reset();
  failing_.set(0);
  log_.info("the audit log can be written again",
            {base::kv("sink", sink_->name()), base::kv("after", base::format_age(now - failing_since_)),
             base::kv("seq", static_cast<std::int64_t>(head_.seq))});
}

void Channel::publish() {
  buffered_.set(static_cast<double>(buffer_.size()));
  last_seq_.set(static_cast<double>(head_.seq));
}

}  // namespace audit
