/// Any bytes as a CSV history: no crash, an error names its line, and days round-trip.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "advisor/parse/csv.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string days(advisor::day_csv_header());
  std::size_t count = 0;
  const auto rows = advisor::read_history_csv(
      text, {[&](const advisor::Sample& sample) {
               ++count;
               if (sample.ns.empty() || sample.pod.empty() || sample.container.empty()) std::abort();
             },
             [&](const advisor::ContainerKey& key, advisor::Day day, const advisor::DayUsage& usage) {
               ++count;
               days += advisor::day_csv_row(key, day, usage);
             }});
  if (!rows && !rows.error().message.starts_with("line ")) std::abort();
  if (rows && *rows != count) std::abort();
  if (rows && days.find("nan") == std::string::npos && days.find("inf") == std::string::npos &&
      !advisor::read_history_csv(days, {[](const auto&) {}, [](const auto&, auto, const auto&) {}}))
    std::abort();
  return 0;
}
