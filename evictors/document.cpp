#include "evictors/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/text.hpp"

namespace evictors {
namespace {

constexpr std::size_t kMaxDocumentBytes = 4 << 20;
constexpr std::size_t kMaxProblem = 300;

}  // namespace

std::optional<api::Json> object_of(const Document* document) {
  if (!document || !document->ok() || document->body.size() > kMaxDocumentBytes) return std::nullopt;
  auto parsed = api::parse_json(document->body);
  if (!parsed || !parsed->is_object()) return std::nullopt;
  return *std::move(parsed);
}

bool is_plain_name(std::string_view text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), plain);
}

std::string one_line(std::string_view text, std::size_t most) {
  std::string line = base::truncate_utf8(text, most);
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return line;
}

std::string problem_of(const Document& document) {
  std::string message = base::truncate_utf8(document.body, kMaxProblem);
  if (const auto body = api::parse_json(document.body.size() <= kMaxDocumentBytes ? document.body : "");
      body && body->is_object() && !api::text_at(*body, {"message"}).empty()) {
    message = base::truncate_utf8(api::text_at(*body, {"message"}), kMaxProblem);
  }
  if (document.status == 0) return fmt::format("no response: {}", message);
  return fmt::format("{}: {}", document.status, message);
}

}  // namespace evictors
