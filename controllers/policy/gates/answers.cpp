#include "controllers/policy/gates/answers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/json/json_access.hpp"
#include "base/text.hpp"

namespace controllers {
namespace {

using api::Json;

constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxMessage = 256;

base::Result<Json> parsed(std::string_view body, std::size_t most) {
  if (body.size() > most) return base::invalid(fmt::format("the response is longer than {} bytes", most));
  auto json = api::parse_json(body);
  if (!json) return base::invalid("the response is not valid JSON");
  return json;
}

/// Formats as one line of at most `most` bytes, without splitting a character.
std::string shown(std::string text, std::size_t most) {
  if (text.size() > most) text = base::truncate_utf8(text, most) + "…";
  for (char& each : text) {
    if (static_cast<unsigned char>(each) < 0x20 || each == 0x7f) each = ' ';
  }
  return text;
}

/// Decodes [time, "value"].
std::optional<double> value_of_pair(const Json* pair) {
  if (!pair || !pair->is_array() || pair->size() != 2 || !(*pair)[1].is_string()) return std::nullopt;
  const auto& text = (*pair)[1].get_ref<const std::string&>();
  const std::size_t sign = text.starts_with('+') ? 1 : 0;  // e.g. "+Inf"
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + sign, end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool is_set(double value) { return value != 0 && !std::isnan(value); }

base::Result<GateAnswer> of_vector(const Json& result) {
  if (!result.is_array()) return base::invalid("the response is not from Prometheus' HTTP API");
  std::size_t holding = 0;
  std::optional<double> first;
  for (const Json& series : result) {
    const auto value = value_of_pair(api::find_at(series, {"value"}));
    if (!value) return base::invalid("a series of the response has no number");
    if (!first || (holding == 0 && is_set(*value))) first = value;
    if (is_set(*value)) ++holding;
  }
  if (!first) return GateAnswer{false, "no series"};
  if (holding <= 1) return GateAnswer{holding == 1, fmt::format("{:g}", *first)};
  return GateAnswer{true, fmt::format("{:g}, and {} more series", *first, holding - 1)};
}

}  // namespace

base::Result<GateAnswer> read_query_answer(std::string_view body) {
  const auto json = parsed(body, kMaxQueryBytes);
  if (!json) return json.error();
  const std::string status = api::text_at(*json, {"status"});
  if (status == "error") return base::invalid("the server cannot evaluate the expression");
  const Json* result = api::find_at(*json, {"data", "result"});
  if (status != "success" || !result) return base::invalid("the response is not from Prometheus' HTTP API");
  const std::string type = api::text_at(*json, {"data", "resultType"});
  if (type == "vector") return of_vector(*result);
  if (type != "scalar") return base::invalid("the expression's result is neither a vector nor a scalar");
  const auto value = value_of_pair(result);
  if (!value) return base::invalid("the scalar of the response is not a number");
  return GateAnswer{is_set(*value), fmt::format("{:g}", *value)};
}

base::Result<GateAnswer> read_alerts_answer(std::string_view body) {
  const auto json = parsed(body, kMaxAlertsBytes);
  if (!json) return json.error();
  if (!json->is_array()) return base::invalid("the response contains no list of alerts");
  std::size_t active = 0;
  std::string first;
  for (const Json& alert : *json) {
    const Json* labels = api::find_at(alert, {"labels"});
    if (!labels || !labels->is_object()) return base::invalid("an alert of the response has no labels");
    if (api::text_at(alert, {"status", "state"}) == "suppressed") continue;
    if (active++ == 0) first = shown(api::text_at(*labels, {"alertname"}), kMaxName);
  }
  if (active == 0) return GateAnswer{false, "no alert"};
  return GateAnswer{true, active == 1 ? first : fmt::format("{} alerts, the first is {}", active, first)};
}

base::Result<GateAnswer> read_webhook_answer(std::string_view body) {
  const auto json = parsed(body, kMaxWebhookBytes);
  if (!json) return json.error();
  const Json* hold = api::find_at(*json, {"hold"});
  if (!hold || !hold->is_boolean()) return base::invalid("the response has no \"hold\": true or false");
  const Json* message = api::find_at(*json, {"message"});
  if (message && !message->is_string()) return base::invalid("the \"message\" of the response is not a string");
  return GateAnswer{hold->get<bool>(), shown(api::text_at(*json, {"message"}), kMaxMessage)};
}

}  // namespace controllers
