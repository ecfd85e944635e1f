#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "telemetry/audit/log.hpp"

namespace audit {

/// Thread-safe. Records stand unsealed in the buffer until they are written: what cannot be written has no number yet,
/// so nothing that is lost leaves a gap.
class Channel {
 public:
  /// Records have their times from `clock`, delays go by `steady`.
  Channel(std::unique_ptr<Sink> sink, const LogOptions& options, const base::Clock& clock, const base::Clock& steady,
          base::Metrics& metrics, base::Log log);

  void record(const Record& record);
  void sign_heads(HeadKey key);
  void tick();
  void flush();
  std::optional<base::Error> failure() const;
  Head head() const;

 private:
  // All REQUIRE mutex_ held.
  void keep(const Record& record);
  Record loss_record() const;
  void work_off(base::TimePoint now);
  bool open(base::TimePoint now);
  Record opening_record(const Opened& opened, base::TimePoint now) const;
  bool write(const Record& record);
  void sync(base::TimePoint now);
  void sign_if_due(base::TimePoint now, bool at_once);
  void fail(base::Error error, base::TimePoint now);
  void recover(base::TimePoint now);
  void publish();

  const LogOptions options_;
  const base::Clock& clock_;
  const base::Clock& steady_;
  const base::Log log_;
  const base::Counter written_, failures_, lost_total_;
  const base::Gauge failing_, buffered_, last_seq_;

  mutable std::mutex mutex_;
  std::unique_ptr<Sink> sink_;
  bool is_open_ = false;
  bool was_open_ = false;  ///< ever, so `head_` is what we wrote and not merely the beginning
  Head head_;
  std::deque<Record> buffer_;
  struct Lost {
    std::uint64_t count = 0;
    base::TimePoint first{};
    base::TimePoint last{};
  };
  Lost lost_;  ///< after those in the buffer
  std::optional<base::Error> failure_;
  base::TimePoint failing_since_{};
  base::TimePoint next_try_{};  ///< this one, synced_at_ and signed_at_ are of steady_
  base::TimePoint synced_at_{};
  HeadKey key_;
  std::uint64_t signed_seq_ = 0;  ///< of the newest record that signs a head
  base::TimePoint signed_at_ = base::TimePoint::min();
};

}  // namespace audit
