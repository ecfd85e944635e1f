#include "simulator/behaviour.hpp"

#include <string>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/text.hpp"
#include "simulator/text.hpp"

namespace simulator::behaviour {
namespace {

constexpr double kMax = 10.0 * 365 * 86'400;

}  // namespace

bool is_set(const api::Json& object, std::string_view annotation) {
  return api::find_at(object, {"metadata", "annotations", annotation}) != nullptr;
}

std::optional<base::Duration> parse_duration(std::string_view text) {
  auto seconds = base::parse_number<double>(text);
  if (!seconds) {
    const auto duration = base::parse_duration(text);
    if (!duration) return std::nullopt;
    seconds = std::chrono::duration<double>(*duration).count();
  }
  if (!(*seconds >= 0 && *seconds <= kMax)) return std::nullopt;
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(*seconds));
}

std::optional<base::Duration> duration_of(const api::Json& object, std::string_view annotation) {
  const std::string text = api::text_at(object, {"metadata", "annotations", annotation});
  return text.empty() ? std::nullopt : parse_duration(text);
}

int integer_of(const api::Json& object, std::string_view annotation, int otherwise) {
  return base::parse_number<int>(api::text_at(object, {"metadata", "annotations", annotation})).value_or(otherwise);
}

}  // namespace simulator::behaviour
