#include "advisor/conflicts.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"

namespace advisor {
namespace {

/// Parses a size as the JVM does: "512m" is 512 MiB.
std::optional<double> heap_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number == 0) return std::nullopt;
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (suffix.empty()) return static_cast<double>(number);
  const auto at = std::string_view("kmgt").find(static_cast<char>(std::tolower(static_cast<unsigned char>(suffix[0]))));
  if (at == std::string_view::npos || suffix.size() > 1) return std::nullopt;
  return static_cast<double>(number) * std::pow(1024.0, static_cast<double>(at + 1));
}

std::optional<double> percentage(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !(number > 0) || number > 100) return std::nullopt;
  return number;
}

void read_word(std::string_view word, HeapFlags& flags) {
  for (const std::string_view flag : {"-Xmx", "-XX:MaxHeapSize="}) {
    if (!word.starts_with(flag)) continue;
    if (const auto size = heap_size(word.substr(flag.size()))) flags.max_heap_bytes = size;
  }
  constexpr std::string_view kPercent = "-XX:MaxRAMPercentage=";
  if (!word.starts_with(kPercent)) return;
  if (const auto percent = percentage(word.substr(kPercent.size()))) flags.max_ram_percent = percent;
}

void read_metric(const api::Json& metric, Autoscaler& autoscaler) {
  const std::string type = api::text_at(metric, {"type"});
  const bool is_pod = type == "Resource";
  if (!is_pod && type != "ContainerResource") return;
  const char* member = is_pod ? "resource" : "containerResource";
  const bool is_share = api::text_at(metric, {member, "target", "type"}) == "Utilization" ||
                        api::number_at(metric, {member, "targetAverageUtilization"}).has_value();
  if (!is_share) return;  // an absolute target does not depend on requests
  const std::string resource = api::text_at(metric, {member, "name"});
  autoscaler.by_cpu = autoscaler.by_cpu || resource == "cpu";
  autoscaler.by_memory = autoscaler.by_memory || resource == "memory";
}

void read_horizontal(const api::Json& object, Autoscaler& autoscaler) {
  for (const api::Json& metric : api::items_at(object, {"spec", "metrics"})) read_metric(metric, autoscaler);
  if (api::number_at(object, {"spec", "targetCPUUtilizationPercentage"})) autoscaler.by_cpu = true;
}

void read_vertical(const api::Json& object, Autoscaler& autoscaler) {
  autoscaler.mode = api::text_at(object, {"spec", "updatePolicy", "updateMode"});
  if (autoscaler.mode.empty()) autoscaler.mode = "Auto";
  autoscaler.by_cpu = autoscaler.by_memory = autoscaler.mode != "Off";
}

}  // namespace

void read_heap_flags(std::string_view text, HeapFlags& flags) {
  constexpr std::string_view kBlanks = " \t\r\n\"'";
  for (auto at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const auto end = std::min(text.find_first_of(kBlanks, at), text.size());
    read_word(text.substr(at, end - at), flags);
    at = text.find_first_not_of(kBlanks, end);
  }
}

HeapFlags heap_flags_of(const api::Json& container) {
  HeapFlags flags;
  const auto read = [&](const api::Json& value) {
    if (value.is_string()) read_heap_flags(value.get_ref<const std::string&>(), flags);
  };
  // Read the command line last, because it overrides JAVA_TOOL_OPTIONS.
  for (const api::Json& variable : api::items_at(container, {"env"})) {
    if (const api::Json* value = api::find_at(variable, {"value"})) read(*value);
  }
  for (const api::Json& word : api::items_at(container, {"command"})) read(word);
  for (const api::Json& word : api::items_at(container, {"args"})) read(word);
  return flags;
}

std::optional<Autoscaler> autoscaler_of(const api::Json& object) {
  Autoscaler autoscaler;
  autoscaler.kind = api::text_at(object, {"kind"});
  const bool is_horizontal = autoscaler.kind == "HorizontalPodAutoscaler";
  if (!is_horizontal && autoscaler.kind != "VerticalPodAutoscaler") return std::nullopt;
  const char* target = is_horizontal ? "scaleTargetRef" : "targetRef";
  autoscaler.ns = api::text_at(object, {"metadata", "namespace"});
  autoscaler.name = api::text_at(object, {"metadata", "name"});
  autoscaler.target_kind = api::text_at(object, {"spec", target, "kind"});
  autoscaler.target_name = api::text_at(object, {"spec", target, "name"});
  if (is_horizontal) {
    read_horizontal(object, autoscaler);
  } else {
    read_vertical(object, autoscaler);
  }
  const bool concerns = autoscaler.by_cpu || autoscaler.by_memory;
  if (autoscaler.target_name.empty() || !concerns) return std::nullopt;
  return autoscaler;
}

}  // namespace advisor
