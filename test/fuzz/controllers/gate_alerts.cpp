/// Any text as an answer of Alertmanager: no crash, and the displayed part stays short.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "controllers/policy/gates/answers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto answer = controllers::read_alerts_answer({reinterpret_cast<const char*>(data), size});
  const std::string& shown = answer ? answer->value : answer.error().message;
  if (shown.size() > 300) std::abort();
  return 0;
}
