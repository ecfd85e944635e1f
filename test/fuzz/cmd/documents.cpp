/// Any file of a user: no crash, limited size, and values read as JSON round-trip.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cmd/input/documents.hpp"
#include "cmd/input/files.hpp"

namespace {

constexpr std::size_t kLimit = std::size_t{8} << 20;

/// JSON documents on one line each, as `jq -c` writes them.
std::string lines_of(const std::vector<api::Json>& documents) {
  std::string text;
  for (const api::Json& document : documents)
    text += document.dump(-1, ' ', false, api::Json::error_handler_t::replace) + "\n";
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = cmd::text_of(std::string(reinterpret_cast<const char*>(data), size), kLimit);
  if (!text) return 0;
  if (text->size() > kLimit) std::abort();
  (void)cmd::parse_documents(*text, cmd::RepeatedKeys::kRefuse);
  const auto documents = cmd::parse_documents(*text, cmd::RepeatedKeys::kLastWins);
  if (!documents || documents->empty()) return 0;
  const std::string lines = lines_of(*documents);
  const auto again = cmd::parse_documents(lines, cmd::RepeatedKeys::kLastWins);
  if (again && again->size() == documents->size() && lines_of(*again) != lines) std::abort();
  return 0;
}
