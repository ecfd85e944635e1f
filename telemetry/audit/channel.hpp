#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "telemetry/audit/log.hpp"

namespace audit {

/// Writes records to one sink. Thread-safe. Buffered records are unsealed: a record gets its number when it is written.
/// Records that are lost from the buffer therefore leave no gap in the chain.
class Channel {
 public:
  /// `clock` gives the times of records; `steady` measures delays.
  Channel(std::unique_ptr<Sink> sink, const LogOptions& options, const base::Clock& clock, const base::Clock& steady,
          base::Metrics& metrics, base::Log log);

  void record(const Record& record);
  void sign_heads(HeadKey key);
  void tick();
  void flush();
  std::optional<base::Error> failure() const;
  Head head() const;

 private:
  // All of the following require mutex_.
  void keep(const Record& record);
  Record loss_record() const;
  void drain_buffer(base::TimePoint now);
  bool open(base::TimePoint now);
  Record opening_record(const Opened& opened, base::TimePoint now) const;
  bool write(const Record& record);
  void sync(base::TimePoint now);
  void sign_if_due(base::TimePoint now, bool immediately);
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
  /// True once the sink was opened, so that `head_` is the last record written by this process.
  bool was_open_ = false;
  Head head_;
  std::deque<Record> buffer_;
  struct Lost {
    std::uint64_t count = 0;
    base::TimePoint first{};
    base::TimePoint last{};
  };
  Lost lost_;  ///< records lost after those in the buffer
  std::optional<base::Error> failure_;
  base::TimePoint failing_since_{};
  base::TimePoint next_try_{};  ///< next_try_, synced_at_ and signed_at_ are times of steady_
  base::TimePoint synced_at_{};
  HeadKey key_;
  std::uint64_t signed_seq_ = 0;  ///< seq of the newest record that signs a head
  base::TimePoint signed_at_ = base::TimePoint::min();
};

}  // namespace audit
