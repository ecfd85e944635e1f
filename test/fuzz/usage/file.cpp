/// Any bytes as a usage file: no crash, an error names its position, accepted rows are complete, and no value is
/// negative.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "usage/parse/file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto samples = usage::read_usage_file({reinterpret_cast<const char*>(data), size}, {});
  if (!samples) {
    if (samples.error().message.empty()) std::abort();
    return 0;
  }
  if (!samples->problems.empty()) std::abort();  // A file has errors, not problems
  if (samples->pod_values.size() != samples->pods.size() * samples->pod_columns.size()) std::abort();
  for (const auto& node : samples->nodes) {
    if (node.name.empty() || node.values.size() != samples->columns.size()) std::abort();
    for (const double value : node.values) {
      if (std::isinf(value) || value < 0) std::abort();
    }
  }
  return 0;
}
