#include "simulator/behaviour.hpp"

#include <charconv>
#include <string>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"

namespace simulator::behaviour {
namespace {

constexpr double kMax = 10.0 * 365 * 86'400;

}  // namespace

bool is_set(const api::Json& object, std::string_view annotation) {
  return api::find_at(object, {"metadata", "annotations", annotation}) != nullptr;
}

std::optional<base::Duration> parse_duration(std::string_view text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size()) {
    const auto duration = base::parse_duration(text);
    if (!duration || *duration < base::Duration::zero()) return std::nullopt;
    seconds = std::chrono::duration<double>(*duration).count();
  }
  if (!(seconds >= 0 && seconds <= kMax)) return std::nullopt;
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
}

std::optional<base::Duration> duration_of(const api::Json& object, std::string_view annotation) {
  const std::string text = api::text_at(object, {"metadata", "annotations", annotation});
  return text.empty() ? std::nullopt : parse_duration(text);
}

int integer_of(const api::Json& object, std::string_view annotation, int otherwise) {
  const std::string text = api::text_at(object, {"metadata", "annotations", annotation});
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size() ? value : otherwise;
}

}  // namespace simulator::behaviour
