#pragma once

/// spec.usageSources of a DeschedulerPolicy: sources of measured usage (docs/concepts/usage.md).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "api/json/strict_object.hpp"
#include "base/clock.hpp"

namespace api {

enum class UsageSourceType { kMetricsServer, kPrometheus, kLoadWatcher, kKoordinator };
std::string_view to_string(UsageSourceType type);

/// Key of a Secret in the operator's namespace. Only Secrets with the label evacuator.dev/usage-credentials=true are
/// read, so that the author of a policy cannot have other Secrets sent to an address of their choice.
struct SecretKey {
  std::string name;
  std::string key;
  friend bool operator==(const SecretKey&, const SecretKey&) = default;
};

struct UsageEndpoint {
  std::string url;                          ///< http(s)://host[:port][/prefix]
  std::optional<SecretKey> bearer_token;    ///< either this, or basic_username and basic_password
  std::optional<SecretKey> basic_username;  ///< requires basic_password
  std::optional<SecretKey> basic_password;
  std::optional<SecretKey> ca;               ///< PEM; nullopt = the system's roots
  std::optional<SecretKey> certificate;      ///< PEM, for mTLS; requires certificate_key
  std::optional<SecretKey> certificate_key;  ///< key of `certificate`
  std::string server_name;                   ///< expected name in the server certificate; "" for the host of the URL
  bool insecure_skip_verify = false;
  std::vector<std::pair<std::string, std::string>> headers;  ///< such as X-Scope-OrgID; sorted by name
  base::Duration timeout = base::seconds(10);                ///< per request: 1s … 60s
  friend bool operator==(const UsageEndpoint&, const UsageEndpoint&) = default;
};

enum class UsageOf { kNode, kPod };
/// Unit of a query's values.
enum class UsageUnit {
  kAmount,    ///< unit of the resource: cores, bytes…
  kFraction,  ///< of the node's allocatable, 0 … 1
  kPercent,   ///< of the node's allocatable, 0 … 100
};

/// One PromQL expression for the whole cluster.
struct UsageQuery {
  std::string resource;  ///< "cpu", "memory", or any other name that thresholds use
  UsageOf of = UsageOf::kNode;
  std::string preset;  ///< name of a predefined expression (usage/presets.hpp), instead of `query`
  std::string query;   ///< PromQL
  UsageUnit unit = UsageUnit::kAmount;
  std::string node_label;       ///< label with the node's name; "" = node, or instance without port
  std::string namespace_label;  ///< kPod: label with the namespace; "" = namespace
  std::string pod_label;        ///< kPod: label with the pod's name; "" = pod
  friend bool operator==(const UsageQuery&, const UsageQuery&) = default;
};

enum class SmoothingMethod { kLatest, kMean, kEwma, kPercentile, kMeanPlusSigma };

/// Combines the samples of the last `window` into one figure.
struct UsageSmoothing {
  SmoothingMethod method = SmoothingMethod::kEwma;
  base::Duration window = base::minutes(5);  ///< 30s … 24h
  double alpha = 0.3;                        ///< kEwma: weight of the latest sample, 0 < alpha ≤ 1
  double percentile = 90;                    ///< kPercentile: 0 … 100
  double sigmas = 1;                         ///< kMeanPlusSigma: 0 … 10
  friend bool operator==(const UsageSmoothing&, const UsageSmoothing&) = default;
};

/// How usage is forecast. A forecast that is worse than "as now" in its own back-test is not used.
struct UsageForecast {
  base::Duration horizon = base::minutes(60);       ///< 1m … 24h; the maximum within the horizon is used
  double percentile = 90;                           ///< of the distribution of the forecast: 50 … 99.9
  base::Duration history = std::chrono::hours(48);  ///< length of history to query: 1h … 35 days
  base::Duration step = base::minutes(5);           ///< of the series: 1m … 1h
  friend bool operator==(const UsageForecast&, const UsageForecast&) = default;
};

struct UsageSource {
  std::string name;  ///< DNS label, unique in the policy
  UsageSourceType type = UsageSourceType::kMetricsServer;
  base::Duration max_age = base::minutes(2);    ///< 10s … 24h; older samples are ignored
  base::Duration interval = base::seconds(30);  ///< 5s … 1h
  UsageEndpoint endpoint;                       ///< kPrometheus, kLoadWatcher
  std::vector<UsageQuery> queries;              ///< kPrometheus
  std::string aggregation;                      ///< kKoordinator: "" (now), avg, p50, p90, p95, p99
  UsageSmoothing smoothing;
  std::optional<UsageForecast> forecast;
  /// Maximum share of nodes without a valid sample; above it the source is not used for balancing.
  std::int32_t max_unknown_percent = 30;
  friend bool operator==(const UsageSource&, const UsageSource&) = default;
};

/// Strict: errors are added to `errors`.
UsageSource read_usage_source(const Json& json, const FieldPath& path, FieldErrors& errors);
Json encode_usage_source(const UsageSource& source);
void validate_usage_sources(const std::vector<UsageSource>& sources, const FieldPath& at, FieldErrors& errors);

/// Codec and validation of endpoints, which gates also use.
void read_usage_endpoint(StrictObject& object, UsageEndpoint& endpoint);
void encode_usage_endpoint(const UsageEndpoint& endpoint, Json& json);
void validate_usage_endpoint(const UsageEndpoint& endpoint, const FieldPath& at, FieldErrors& errors);

}  // namespace api
