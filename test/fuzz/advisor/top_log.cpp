/// Any bytes as a log of `kubectl top`: no crash, every sample has names, a time and an amount, and folding the samples
/// gives possible values.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "advisor/parse/top_log.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const advisor::WorkloadKey web{"shop", "Pod", "web"};
  advisor::Owners owners;
  owners.add_workload(web, 1);
  constexpr base::Duration kEver = std::chrono::hours(24 * 365 * 200);
  advisor::SampleAggregator fold(owners, {base::TimePoint(-kEver), base::TimePoint(kEver), base::minutes(5)});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::size_t count = 0;
  const auto notes = advisor::read_top_log(text, size % 2 == 0 ? "" : "shop", [&](const advisor::Sample& sample) {
    ++count;
    if (sample.ns.empty() || sample.pod.empty() || sample.container.empty()) std::abort();
    if (std::isnan(sample.cpu) && std::isnan(sample.memory)) std::abort();
    fold.add(sample);
  });
  if (notes ? notes->samples != count : notes.error().message.empty()) std::abort();
  const auto all = std::move(fold).finish();
  for (const auto& [key, history] : all.containers) {
    for (const auto& [day, usage] : history.days) {
      if (usage.cpu_peak < 0 || usage.cpu_mean > usage.cpu_peak * 1.001 || usage.memory_peak < 0) std::abort();
      if (usage.covered > std::chrono::hours(24)) std::abort();
    }
  }
  return 0;
}
