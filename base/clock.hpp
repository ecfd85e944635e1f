#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace base {

using Duration = std::chrono::microseconds;
/// Wall-clock instants, UTC, microseconds: the precision of Kubernetes' MicroTime.
using TimePoint = std::chrono::sys_time<Duration>;

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// Source of the current time. Thread-safe. Code below cmd/ never calls system_clock itself.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

/// The machine's clock.
class SystemClock final : public Clock {
 public:
  TimePoint now() const override;
};

/// A clock that only moves when told to: the simulator's and the tests'. Thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimePoint start) : ticks_(start.time_since_epoch().count()) {}
  TimePoint now() const override { return TimePoint(Duration(ticks_.load())); }
  void advance(Duration by) { ticks_ += by.count(); }
  void set(TimePoint to) { ticks_ = to.time_since_epoch().count(); }

 private:
  std::atomic<Duration::rep> ticks_;
};

/// RFC 3339 in UTC with whole seconds, as metav1.Time writes it: "2026-11-21T03:35:40Z".
std::string format_time(TimePoint time);
/// RFC 3339 in UTC with six decimals, as metav1.MicroTime writes it.
std::string format_micro_time(TimePoint time);
/// Reads RFC 3339 with any offset and up to nine decimals (truncated to µs). nullopt if it is anything else.
std::optional<TimePoint> parse_time(std::string_view text);

/// Go's time.Duration syntax: "300ms", "1h30m", "1.5h", "0", "-5s". nullopt if malformed or out of range.
std::optional<Duration> parse_duration(std::string_view text);
/// Go's spelling of a duration: "1h30m0s", "5m0s", "1.5s", "0s".
std::string format_duration(Duration duration);
/// kubectl's spelling of an age: "5s", "3m20s", "4h", "12d".
std::string format_age(Duration age);

}  // namespace base
