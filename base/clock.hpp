#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace base {

using Duration = std::chrono::microseconds;
/// Wall-clock time in UTC with the precision of Kubernetes' MicroTime (microseconds).
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

class SystemClock final : public Clock {
 public:
  TimePoint now() const override;
};

/// Clock that moves only by advance() and set(), for the simulator and tests. Thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimePoint start) : ticks_(start.time_since_epoch().count()) {}
  TimePoint now() const override { return TimePoint(Duration(ticks_.load())); }
  void advance(Duration by) { ticks_ += by.count(); }
  void set(TimePoint to) { ticks_ = to.time_since_epoch().count(); }

 private:
  std::atomic<Duration::rep> ticks_;
};

/// Formats as metav1.Time does: RFC 3339 in UTC with whole seconds, "2026-11-21T03:35:40Z".
std::string format_time(TimePoint time);
/// Formats as metav1.MicroTime does: RFC 3339 in UTC with six decimals.
std::string format_micro_time(TimePoint time);
/// Parses RFC 3339 with any offset and up to nine decimals, truncated to µs. Returns nullopt if malformed.
std::optional<TimePoint> parse_time(std::string_view text);

/// Parses Go's time.Duration syntax: "300ms", "1h30m", "1.5h", "0", "-5s". Returns nullopt if malformed or out of
/// range.
std::optional<Duration> parse_duration(std::string_view text);
/// Formats as Go's time.Duration does: "1h30m0s", "5m0s", "1.5s", "0s".
std::string format_duration(Duration duration);
/// Formats as kubectl prints an age: "5s", "3m20s", "4h", "12d".
std::string format_age(Duration age);

}  // namespace base
