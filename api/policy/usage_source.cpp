#include "api/policy/usage_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "api/json/fields.hpp"
#include "api/meta/names.hpp"
#include "api/policy/bounds.hpp"

namespace api {
namespace {

/// A type, its name, and the name of the block that configures it.
struct TypeRow {
  UsageSourceType type;
  std::string_view name;
  std::string_view block;
};
constexpr std::array kTypes = {TypeRow{UsageSourceType::kMetricsServer, "MetricsServer", "metricsServer"},
                               TypeRow{UsageSourceType::kPrometheus, "Prometheus", "prometheus"},
                               TypeRow{UsageSourceType::kLoadWatcher, "LoadWatcher", "loadWatcher"},
                               TypeRow{UsageSourceType::kKoordinator, "Koordinator", "koordinator"}};
constexpr std::array kTypeNames = {WireName{kTypes[0].type, kTypes[0].name}, WireName{kTypes[1].type, kTypes[1].name},
                                   WireName{kTypes[2].type, kTypes[2].name}, WireName{kTypes[3].type, kTypes[3].name}};
constexpr std::array kOfNames = {WireName{UsageOf::kNode, "Node"}, WireName{UsageOf::kPod, "Pod"}};
constexpr std::array kUnitNames = {WireName{UsageUnit::kAmount, "Amount"}, WireName{UsageUnit::kFraction, "Fraction"},
                                   WireName{UsageUnit::kPercent, "Percent"}};
constexpr std::array kMethodNames = {WireName{SmoothingMethod::kLatest, "Latest"},
                                     WireName{SmoothingMethod::kMean, "Mean"}, WireName{SmoothingMethod::kEwma, "EWMA"},
                                     WireName{SmoothingMethod::kPercentile, "Percentile"},
                                     WireName{SmoothingMethod::kMeanPlusSigma, "MeanPlusSigma"}};
constexpr std::array<std::string_view, 5> kAggregations = {"avg", "p50", "p90", "p95", "p99"};

}  // namespace

constexpr const auto& wire_names(UsageOf) { return kOfNames; }
constexpr const auto& wire_names(UsageUnit) { return kUnitNames; }
constexpr const auto& wire_names(SmoothingMethod) { return kMethodNames; }

template <>
inline constexpr auto kFields<SecretKey> = std::tuple{always("name", &SecretKey::name), always("key", &SecretKey::key)};

template <>
inline constexpr auto kFields<UsageQuery> = std::tuple{always("resource", &UsageQuery::resource),
                                                       always("of", &UsageQuery::of),
                                                       field("preset", &UsageQuery::preset),
                                                       field("query", &UsageQuery::query),
                                                       always("unit", &UsageQuery::unit),
                                                       field("nodeLabel", &UsageQuery::node_label),
                                                       field("namespaceLabel", &UsageQuery::namespace_label),
                                                       field("podLabel", &UsageQuery::pod_label)};

template <>
inline constexpr auto kFields<UsageSmoothing> =
    std::tuple{always("method", &UsageSmoothing::method), always("window", &UsageSmoothing::window),
               always("alpha", &UsageSmoothing::alpha), always("percentile", &UsageSmoothing::percentile),
               always("sigmas", &UsageSmoothing::sigmas)};

template <>
inline constexpr auto kFields<UsageForecast> =
    std::tuple{always("horizon", &UsageForecast::horizon), always("percentile", &UsageForecast::percentile),
               always("history", &UsageForecast::history), always("step", &UsageForecast::step)};

namespace {

std::string_view block_of(UsageSourceType type) { return std::ranges::find(kTypes, type, &TypeRow::type)->block; }

void put_secret_key(Json& json, const char* name, const std::optional<SecretKey>& secret) {
  if (secret) json[name] = encode(*secret);
}

void read_block(StrictObject& block, UsageSource& source) {
  if (source.type == UsageSourceType::kKoordinator) return block.read("aggregation", source.aggregation);
  if (source.type == UsageSourceType::kMetricsServer) return;
  read_usage_endpoint(block, source.endpoint);
  if (source.type != UsageSourceType::kPrometheus) return;
  read_member(block, "queries", source.queries);
}

Json encode_block(const UsageSource& source) {
  Json block = Json::object();
  encode_usage_endpoint(source.endpoint, block);
  if (!source.queries.empty()) block["queries"] = encode(source.queries);
  put_text(block, "aggregation", source.aggregation);
  return block;
}

void check_secret_key(const std::optional<SecretKey>& secret, const FieldPath& at, FieldErrors& errors) {
  if (!secret) return;
  if (!is_dns_subdomain(secret->name)) errors.push_back({at.field("name").text(), "must be the name of a Secret"});
  if (secret->key.empty()) errors.push_back({at.field("key").text(), "is required"});
  check_length(errors, at.field("key"), secret->key, bounds::kMaxSecretText);
}

/// Returns true for headers that the operator sets itself, or that affect how a request is parsed.
bool is_reserved_header(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  constexpr std::array<std::string_view, 7> kReserved = {
      "authorization", "host", "content-length", "connection", "content-type", "transfer-encoding", "accept"};
  return std::ranges::find(kReserved, lower) != kReserved.end();
}

void check_headers(const UsageEndpoint& endpoint, const FieldPath& at, FieldErrors& errors) {
  check_items(errors, at, endpoint.headers.size(), bounds::kMaxHeaders);
  for (const auto& [name, value] : endpoint.headers) {
    check_length(errors, at.key(name), value, bounds::kMaxHeaderText);
    if (!is_header_name(name)) errors.push_back({at.key(name).text(), "is not a name of an HTTP header"});
    if (is_reserved_header(name)) errors.push_back({at.key(name).text(), "is set by the operator itself"});
    if (std::ranges::any_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      errors.push_back({at.key(name).text(), "must not have control characters"});
  }
}

void check_tls(const UsageEndpoint& endpoint, const FieldPath& at, FieldErrors& errors) {
  check_secret_key(endpoint.ca, at.field("ca"), errors);
  check_secret_key(endpoint.certificate, at.field("certificate"), errors);
  check_secret_key(endpoint.certificate_key, at.field("key"), errors);
  if (endpoint.certificate.has_value() != endpoint.certificate_key.has_value())
    errors.push_back({at.text(), "must have both certificate and key, or none of them"});
}

void check_auth(const UsageEndpoint& endpoint, const FieldPath& at, FieldErrors& errors) {
  check_secret_key(endpoint.bearer_token, at.field("bearerToken"), errors);
  const FieldPath basic = at.field("basicAuth");
  check_secret_key(endpoint.basic_username, basic.field("username"), errors);
  check_secret_key(endpoint.basic_password, basic.field("password"), errors);
  if (endpoint.basic_username.has_value() != endpoint.basic_password.has_value())
    errors.push_back({basic.text(), "must have both username and password"});
  if (endpoint.bearer_token && endpoint.basic_username)
    errors.push_back({at.text(), "must have either bearerToken or basicAuth, not both"});
}

void check_query(const UsageQuery& query, const FieldPath& at, FieldErrors& errors) {
  if (query.resource.empty()) errors.push_back({at.field("resource").text(), "is required"});
  check_length(errors, at.field("resource"), query.resource, bounds::kMaxSecretText);
  if (query.preset.empty() == query.query.empty())
    errors.push_back({at.text(), "must have either preset or query, and not both"});
  check_length(errors, at.field("query"), query.query, bounds::kMaxQueryText);
  check_length(errors, at.field("preset"), query.preset, bounds::kMaxLabelName);
  check_length(errors, at.field("nodeLabel"), query.node_label, bounds::kMaxLabelName);
  check_length(errors, at.field("namespaceLabel"), query.namespace_label, bounds::kMaxLabelName);
  check_length(errors, at.field("podLabel"), query.pod_label, bounds::kMaxLabelName);
}

void check_block(const UsageSource& source, const FieldPath& at, FieldErrors& errors) {
  const FieldPath block = at.field(block_of(source.type));
  if (source.type == UsageSourceType::kKoordinator && !source.aggregation.empty() &&
      std::ranges::find(kAggregations, source.aggregation) == kAggregations.end()) {
    errors.push_back({block.field("aggregation").text(),
                      fmt::format("\"{}\" is not one of {}", source.aggregation, join_alternatives(kAggregations))});
  }
  const bool has_endpoint = source.type == UsageSourceType::kPrometheus || source.type == UsageSourceType::kLoadWatcher;
  if (has_endpoint) validate_usage_endpoint(source.endpoint, block, errors);
  check_items(errors, block.field("queries"), source.queries.size(), bounds::kMaxQueries);
  for (std::size_t i = 0; i < source.queries.size(); ++i)
    check_query(source.queries[i], block.field("queries").index(i), errors);
}

void check_smoothing(const UsageSmoothing& smoothing, const FieldPath& at, FieldErrors& errors) {
  check_duration(errors, at.field("window"), smoothing.window, base::seconds(30), std::chrono::hours(24));
  check_number(errors, at.field("alpha"), smoothing.alpha, 0.001, 1);
  check_number(errors, at.field("percentile"), smoothing.percentile, 0, 100);
  check_number(errors, at.field("sigmas"), smoothing.sigmas, 0, 10);
}

void check_forecast(const UsageForecast& forecast, const FieldPath& at, FieldErrors& errors) {
  check_duration(errors, at.field("horizon"), forecast.horizon, base::minutes(1), std::chrono::hours(24));
  check_number(errors, at.field("percentile"), forecast.percentile, 50, 99.9);
  check_duration(errors, at.field("history"), forecast.history, std::chrono::hours(1), std::chrono::hours(840));
  check_duration(errors, at.field("step"), forecast.step, base::minutes(1), std::chrono::hours(1));
}

void check_source(const UsageSource& source, const FieldPath& at, FieldErrors& errors) {
  if (!is_dns_label(source.name))
    errors.push_back({at.field("name").text(), "must be a DNS label, such as prometheus"});
  check_duration(errors, at.field("maxAge"), source.max_age, base::seconds(10), std::chrono::hours(24));
  check_duration(errors, at.field("interval"), source.interval, bounds::kMinInterval, std::chrono::hours(1));
  if (source.max_age < source.interval)
    errors.push_back({at.field("maxAge").text(), "is shorter than interval: every sample would be too old"});
  check_number(errors, at.field("maxUnknownPercent"), source.max_unknown_percent, 0, 100);
  check_block(source, at, errors);
  check_smoothing(source.smoothing, at.field("smoothing"), errors);
  if (source.forecast) check_forecast(*source.forecast, at.field("forecast"), errors);
}

}  // namespace

std::string_view to_string(UsageSourceType type) { return name_of(kTypeNames, type); }

void read_usage_endpoint(StrictObject& object, UsageEndpoint& endpoint) {
  object.read("url", endpoint.url);
  read_member(object, "bearerToken", endpoint.bearer_token);
  object.with("basicAuth", [&](StrictObject& basic) {
    read_member(basic, "username", endpoint.basic_username);
    read_member(basic, "password", endpoint.basic_password);
  });
  object.with("tls", [&](StrictObject& tls) {
    read_member(tls, "ca", endpoint.ca);
    read_member(tls, "certificate", endpoint.certificate);
    read_member(tls, "key", endpoint.certificate_key);
    tls.read("serverName", endpoint.server_name);
    tls.read("insecureSkipVerify", endpoint.insecure_skip_verify);
  });
  object.read("headers", endpoint.headers);
  object.read_duration("timeout", endpoint.timeout);
}

void encode_usage_endpoint(const UsageEndpoint& endpoint, Json& json) {
  if (endpoint == UsageEndpoint{}) return;
  put_text(json, "url", endpoint.url);
  put_secret_key(json, "bearerToken", endpoint.bearer_token);
  if (endpoint.basic_username || endpoint.basic_password) {
    put_secret_key(json["basicAuth"], "username", endpoint.basic_username);
    put_secret_key(json["basicAuth"], "password", endpoint.basic_password);
  }
  Json tls = Json::object();
  put_secret_key(tls, "ca", endpoint.ca);
  put_secret_key(tls, "certificate", endpoint.certificate);
  put_secret_key(tls, "key", endpoint.certificate_key);
  put_text(tls, "serverName", endpoint.server_name);
  if (endpoint.insecure_skip_verify) tls["insecureSkipVerify"] = true;
  if (!tls.empty()) json["tls"] = std::move(tls);
  for (const auto& [name, value] : endpoint.headers) json["headers"][name] = value;
  json["timeout"] = base::format_duration(endpoint.timeout);
}

void validate_usage_endpoint(const UsageEndpoint& endpoint, const FieldPath& at, FieldErrors& errors) {
  if (!endpoint.url.starts_with("http://") && !endpoint.url.starts_with("https://"))
    errors.push_back({at.field("url").text(), "is required and begins with http:// or https://"});
  check_length(errors, at.field("url"), endpoint.url, bounds::kMaxUrl);
  check_duration(errors, at.field("timeout"), endpoint.timeout, base::seconds(1), base::seconds(60));
  check_length(errors, at.field("tls").field("serverName"), endpoint.server_name, bounds::kMaxSecretText);
  check_auth(endpoint, at, errors);
  check_tls(endpoint, at.field("tls"), errors);
  check_headers(endpoint, at.field("headers"), errors);
}

UsageSource read_usage_source(const Json& json, const FieldPath& path, FieldErrors& errors) {
  UsageSource source;
  StrictObject object(json, path, errors);
  object.read("name", source.name);
  if (object.find("type") == nullptr) object.complain("type", "is required");
  object.read("type", kTypeNames, source.type);
  object.read_duration("maxAge", source.max_age);
  object.read_duration("interval", source.interval);
  object.with(block_of(source.type), [&](StrictObject& block) { read_block(block, source); });
  read_member(object, "smoothing", source.smoothing);
  read_member(object, "forecast", source.forecast);
  object.read("maxUnknownPercent", source.max_unknown_percent);
  for (const TypeRow& row : kTypes) {
    if (row.type != source.type && object.find(row.block) != nullptr)
      object.complain(row.block, fmt::format("does not go with type {}", to_string(source.type)));
  }
  object.finish();
  return source;
}

Json encode_usage_source(const UsageSource& source) {
  Json json = {{"name", source.name},
               {"type", to_string(source.type)},
               {"maxAge", base::format_duration(source.max_age)},
               {"interval", base::format_duration(source.interval)},
               {std::string(block_of(source.type)), encode_block(source)},
               {"smoothing", encode(source.smoothing)},
               {"maxUnknownPercent", source.max_unknown_percent}};
  if (source.forecast) json["forecast"] = encode(*source.forecast);
  return json;
}

void validate_usage_sources(const std::vector<UsageSource>& sources, const FieldPath& at, FieldErrors& errors) {
  check_items(errors, at, sources.size(), bounds::kMaxUsageSources);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    check_source(sources[i], at.index(i), errors);
    if (!names.insert(sources[i].name).second)
      errors.push_back({at.index(i).field("name").text(), fmt::format("\"{}\" occurs twice", sources[i].name)});
  }
}

}  // namespace api
