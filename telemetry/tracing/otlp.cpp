#include "telemetry/tracing/otlp.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "api/json/json.hpp"
#include "api/json/json_access.hpp"
#include "base/text.hpp"

namespace tracing {
namespace {

using api::Json;

constexpr int kStatusError = 2;

Json text_value(std::string_view text) { return {{"stringValue", base::truncate_utf8(text, kMaxText)}}; }

Json value_json(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> Json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) return text_value(value);
        if constexpr (std::is_same_v<T, std::int64_t>) return {{"intValue", std::to_string(value)}};
        if constexpr (std::is_same_v<T, double>) return {{"doubleValue", value}};
        if constexpr (std::is_same_v<T, bool>) return {{"boolValue", value}};
      },
      attribute.value);
}

Json attributes_json(std::span<const Attribute> attributes) {
  Json list = Json::array();
  for (const Attribute& each : attributes) list.push_back({{"key", each.key}, {"value", value_json(each)}});
  return list;
}

/// Protobuf's JSON mapping encodes 64-bit integers as strings.
std::string nanoseconds(base::TimePoint time) {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  return std::to_string(std::max<std::int64_t>(since, 0));
}

void add_links(const Span& span, Json& json) {
  if (span.links.empty()) return;
  json["links"] = Json::array();
  for (const SpanLink& each : std::span(span.links).first(std::min(span.links.size(), kMaxLinks)))
    json["links"].push_back({{"traceId", each.trace_id}, {"spanId", each.span_id}});
  if (span.links.size() > kMaxLinks) json["droppedLinksCount"] = span.links.size() - kMaxLinks;
}

Json span_json(const Span& span) {
  const auto attributes = std::span(span.attributes).first(std::min(span.attributes.size(), kMaxAttributes));
  Json json = {{"traceId", span.trace_id},
               {"spanId", span.id},
               {"name", base::truncate_utf8(span.name, kMaxText)},
               {"kind", static_cast<int>(span.kind)},
               {"startTimeUnixNano", nanoseconds(span.start)},
               {"endTimeUnixNano", nanoseconds(std::max(span.start, span.end))},
               {"attributes", attributes_json(attributes)}};
  if (!span.parent.empty()) json["parentSpanId"] = span.parent;
  if (span.attributes.size() > kMaxAttributes) json["droppedAttributesCount"] = span.attributes.size() - kMaxAttributes;
  add_links(span, json);
  if (!span.problem.empty())
    json["status"] = {{"code", kStatusError}, {"message", base::truncate_utf8(span.problem, kMaxText)}};
  return json;
}

}  // namespace

std::string encode_otlp(const Resource& resource, std::span<const Span> spans) {
  const std::vector<Attribute> who = {{"service.name", std::string("evacuator")},
                                      {"service.version", resource.version},
                                      {"service.instance.id", resource.instance},
                                      {"k8s.namespace.name", resource.ns}};
  Json list = Json::array();
  for (const Span& each : spans) list.push_back(span_json(each));
  Json scope = {{"scope", {{"name", "evacuator"}, {"version", resource.version}}}, {"spans", std::move(list)}};
  Json of_resource = {{"resource", {{"attributes", attributes_json(who)}}},
                      {"scopeSpans", Json::array({std::move(scope)})}};
  return api::to_json_text({{"resourceSpans", Json::array({std::move(of_resource)})}});
}

std::int64_t rejected_spans(std::string_view answer) {
  const Json json = Json::parse(answer, nullptr, false);
  if (!json.is_object()) return 0;
  if (const auto number = api::number_at(json, {"partialSuccess", "rejectedSpans"}))
    return std::max<std::int64_t>(*number, 0);
  const std::string text = api::text_at(json, {"partialSuccess", "rejectedSpans"});
  return std::max<std::int64_t>(base::parse_number<std::int64_t>(text).value_or(0), 0);
}

}  // namespace tracing
