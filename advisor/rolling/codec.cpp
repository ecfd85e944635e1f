#include "advisor/rolling/codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "base/base64.hpp"

namespace advisor {
namespace {

/// Increment when the meaning of the bytes changes.
constexpr std::uint8_t kVersion = 1;
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 48;
constexpr std::uint64_t kAllHours = (std::uint64_t{1} << 24) - 1;
constexpr Day kLastDay = 100'000;  ///< in the year 2243

std::uint64_t minutes_of(base::Duration time) {
  return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::minutes>(time).count());
}
std::uint64_t seconds_of(base::TimePoint time) {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count(), 0));
}

// --- Writing

class Writer {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  /// Varint: seven bits per byte, lowest first.
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  void real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(bits >> shift));
  }
  /// Writes a bit mask of the known values, then the known values.
  void reals(const std::vector<double>& values) {
    std::uint8_t known = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      known |= static_cast<std::uint8_t>(std::isnan(values[i]) ? 0 : 1U << i);
    byte(known);
    for (const double value : values) {
      if (!std::isnan(value)) real(value);
    }
  }
  void sketch(const QuantileSketch& sketch) {
    const QuantileSketch::Parts parts = sketch.parts();
    number(parts.zeros);
    number(parts.buckets.size());
    if (parts.buckets.empty()) return;
    const auto first = static_cast<std::uint64_t>(std::abs(parts.first));
    number(first << 1 | (parts.first < 0 ? 1U : 0U));
    for (const std::uint32_t count : parts.buckets) number(count);
  }
  std::string take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

void write_day(Day day, const DayUsage& usage, Writer& out) {
  out.number(static_cast<std::uint64_t>(day));
  out.number(usage.samples);
  out.number(minutes_of(usage.covered));
  out.number(usage.oom_kills);
  out.reals({usage.cpu_peak, usage.cpu_mean, usage.cpu_p95, usage.cpu_startup_peak, usage.memory_peak,
             usage.memory_mean, usage.throttled});
}

void write_open(Day day, const DaySamples& open, Writer& out) {
  out.number(static_cast<std::uint64_t>(day));
  out.number(open.hours);
  out.number(open.samples);
  out.number(open.cpu_use.count);
  out.number(open.memory_use.count);
  out.reals({open.cpu_use.sum, open.cpu_use.peak, open.startup_peak, open.memory_use.sum, open.memory_use.peak});
  out.sketch(open.cpu);
}

// --- Reading

/// After the first error, all reads return 0 and good() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool good() const { return good_; }
  bool at_end() const { return bytes_.empty(); }
  void fail() { good_ = false; }

  std::uint8_t byte() {
    if (!good_ || bytes_.empty()) return fail(), std::uint8_t{0};
    const auto value = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  std::uint64_t number(std::uint64_t most) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 63; shift += 7) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7F) << shift;
      if (next >= 0x80) continue;
      if (value > most) break;
      return good_ ? value : 0;
    }
    return fail(), 0;
  }
  /// Reads a value in 0 … most.
  double real(double most) {
    std::uint64_t bits = 0;
    for (int shift = 0; shift < 64; shift += 8) bits |= static_cast<std::uint64_t>(byte()) << shift;
    const auto value = std::bit_cast<double>(bits);
    if (!(value >= 0) || value > most) return fail(), 0;
    return value;
  }
  struct Wanted {
    double* target;
    double most;
  };
  void reals(const std::vector<Wanted>& wanted) {
    const std::uint8_t known = byte();
    if (known >> wanted.size() != 0) return fail();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if ((known >> i & 1U) != 0) *wanted[i].target = real(wanted[i].most);
    }
  }
  QuantileSketch sketch() {
    QuantileSketch::Parts parts;
    parts.zeros = number(kMaxCount);
    const std::uint64_t size = number(QuantileSketch::kMaxBuckets);
    if (size > 0) {
      const std::uint64_t first = number(std::numeric_limits<std::uint16_t>::max());
      parts.first = static_cast<int>(first >> 1) * ((first & 1U) != 0 ? -1 : 1);
    }
    for (std::uint64_t i = 0; i < size && good_; ++i)
      parts.buckets.push_back(static_cast<std::uint32_t>(number(std::numeric_limits<std::uint32_t>::max())));
    auto sketch = QuantileSketch::of(kMinSketchCores, kMaxCores, std::move(parts));
    if (!sketch) fail();
    return sketch && good_ ? *std::move(sketch) : QuantileSketch(kMinSketchCores);
  }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

DayUsage read_day(Reader& in) {
  constexpr std::uint64_t kDayOfMinutes = std::uint64_t{24} * 60;
  DayUsage usage;
  usage.samples = in.number(kMaxCount);
  usage.covered = std::chrono::minutes(in.number(kDayOfMinutes));
  usage.oom_kills = static_cast<std::uint32_t>(in.number(std::numeric_limits<std::uint32_t>::max()));
  in.reals({{&usage.cpu_peak, kMaxCores},
            {&usage.cpu_mean, kMaxCores},
            {&usage.cpu_p95, kMaxCores},
            {&usage.cpu_startup_peak, kMaxCores},
            {&usage.memory_peak, kMaxBytes},
            {&usage.memory_mean, kMaxBytes},
            {&usage.throttled, 1}});
  return usage;
}

DaySamples read_open(Reader& in) {
  DaySamples open;
  open.hours = static_cast<std::uint32_t>(in.number(kAllHours));
  open.samples = in.number(kMaxCount);
  open.cpu_use.count = in.number(open.samples);
  open.memory_use.count = in.number(open.samples);
  in.reals({{&open.cpu_use.sum, kMaxCores * static_cast<double>(open.cpu_use.count)},
            {&open.cpu_use.peak, kMaxCores},
            {&open.startup_peak, kMaxCores},
            {&open.memory_use.sum, kMaxBytes * static_cast<double>(open.memory_use.count)},
            {&open.memory_use.peak, kMaxBytes}});
  open.cpu = in.sketch();
  return open;
}

/// Reads days and sketches, which must be strictly ascending.
RollingHistory::Parts read_parts(Reader& in, Day today) {
  RollingHistory::Parts parts;
  parts.first = base::TimePoint(base::seconds(in.number(static_cast<std::uint64_t>(kLastDay) * 86'400)));
  parts.last = base::TimePoint(base::seconds(in.number(static_cast<std::uint64_t>(kLastDay) * 86'400)));
  parts.samples = in.number(kMaxCount);
  DiscardedSamples& odd = parts.oddities;
  for (std::uint64_t* count : {&odd.negative, &odd.not_finite, &odd.absurd, &odd.duplicates})
    *count = in.number(kMaxCount);
  const auto last_day = static_cast<std::uint64_t>(std::max<Day>(today, 0));
  Day newest = -1;
  const auto next_day = [&] {
    const Day day = static_cast<Day>(in.number(last_day));
    if (day <= newest) in.fail();
    return newest = day;
  };
  for (auto left = in.number(RollingHistory::kMaxDays); left > 0 && in.good(); --left) {
    const Day day = next_day();
    parts.closed.emplace(day, read_day(in));
  }
  if (in.number(1) == 1) {
    parts.day = next_day();
    parts.open = read_open(in);
  }
  int before = -1;
  for (auto left = in.number(RollingHistory::kMaxSketches); left > 0 && in.good(); --left) {
    const int at = static_cast<int>(in.number(last_day));
    if (at <= before) in.fail();
    parts.sketches.emplace(before = at, in.sketch());
  }
  if (parts.first > parts.last || day_of(parts.last) > today) in.fail();
  return parts;
}

}  // namespace

std::string encode_history(const RollingHistory& history) {
  const RollingHistory::Parts& parts = history.parts();
  Writer out;
  out.byte(kVersion);
  out.number(seconds_of(parts.first));
  out.number(seconds_of(parts.last));
  out.number(parts.samples);
  const DiscardedSamples& odd = parts.oddities;
  for (const std::uint64_t count : {odd.negative, odd.not_finite, odd.absurd, odd.duplicates}) out.number(count);
  out.number(parts.closed.size());
  for (const auto& [day, usage] : parts.closed) write_day(day, usage, out);
  out.number(parts.day ? 1 : 0);
  if (parts.day) write_open(*parts.day, parts.open, out);
  out.number(parts.sketches.size());
  for (const auto& [at, sketch] : parts.sketches) {
    out.number(static_cast<std::uint64_t>(at));
    out.sketch(sketch);
  }
  return base::encode_base64(std::move(out).take());
}

base::Result<RollingHistory> decode_history(std::string_view text, base::TimePoint now) {
  if (text.size() > kMaxHistoryText)
    return base::invalid(fmt::format("{} bytes are more than the maximum size of a history", text.size()));
  const auto bytes = base::decode_base64(text);
  if (!bytes) return base::invalid("it is not valid Base64");
  Reader in(*bytes);
  if (const std::uint8_t version = in.byte(); version != kVersion)
    return base::invalid(fmt::format("its version {} is unknown", version));
  RollingHistory::Parts parts = read_parts(in, day_of(now));
  if (!in.good() || !in.at_end()) return base::invalid("the values are not possible for a container");
  return RollingHistory(std::move(parts));
}

}  // namespace advisor
