/// Any text as a cron expression: no crash, and the next time is after now and on a full minute, or never.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "controllers/policy/schedule/cron.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto cron = controllers::CronExpression::parse({reinterpret_cast<const char*>(data), size});
  if (!cron) return 0;
  static const controllers::TimeZone berlin = *controllers::TimeZone::find("Europe/Berlin");
  const base::TimePoint start(std::chrono::sys_days(std::chrono::year(2026) / 3 / 28));
  base::TimePoint last = start;
  for (int i = 0; i < 3; ++i) {
    const auto next = cron->next_after(last, berlin);
    if (!next) return 0;
    if (*next <= last || *next != std::chrono::floor<base::minutes>(*next)) std::abort();
    last = *next;
  }
  return 0;
}
