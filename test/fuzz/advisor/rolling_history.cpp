/// Any bytes as the stored history of a container: no crash, advice from an accepted history is possible, and an
/// accepted history round-trips.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "advisor/requests.hpp"
#include "advisor/rolling/codec.hpp"
#include "base/base64.hpp"

namespace {

void check(const advisor::RollingHistory& history, base::TimePoint now) {
  if (history.parts().closed.size() > advisor::RollingHistory::kMaxDays) std::abort();
  advisor::Rules rules{advisor::Profile::kPercentile, 95, 0, advisor::day_of(now)};
  const auto advice = advisor::advise_container({}, history.history(), rules);
  for (const auto& amount : {advice.recommended.cpu_request, advice.recommended.cpu_limit}) {
    if (amount && !(*amount > 0 && *amount <= advisor::kMaxCores * 1.1)) std::abort();
  }
  const auto& memory = advice.recommended.memory_limit;
  if (memory && !(*memory > 0 && *memory <= advisor::kMaxBytes * 1.2)) std::abort();
  const auto again = advisor::decode_history(advisor::encode_history(history), now);
  if (!again || advisor::encode_history(*again) != advisor::encode_history(history)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const base::TimePoint now = *base::parse_time("2026-11-21T12:00:00Z");
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // Reads the input as bytes, so that the fuzzer does not have to find Base64 first, and as text.
  if (const auto read = advisor::decode_history(base::encode_base64(bytes), now)) {
    check(*read, now);
    advisor::RollingHistory next;
    next.add(now, 0.5, 1e8, false);
    next.merge(*read);
    if (next.parts().samples != read->parts().samples + 1) std::abort();
    check(next, now);
  }
  if (const auto read = advisor::decode_history(bytes, now)) check(*read, now);
  return 0;
}
