/// Any text as an answer of Prometheus or a webhook: no crash, and the displayed part stays short.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "controllers/policy/gates/answers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  for (const auto read : {controllers::read_query_answer, controllers::read_webhook_answer}) {
    const auto answer = read(body);
    const std::string& shown = answer ? answer->value : answer.error().message;
    if (shown.size() > 300) std::abort();
  }
  return 0;
}
