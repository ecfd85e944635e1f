#pragma once

/// spec.usageSources of a DeschedulerPolicy: where measured usage comes from (docs/concepts/usage.md).

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

/// One key of a Secret in the operator's namespace. Only Secrets with the label evacuator.dev/usage-credentials=true
/// are read: whoever writes a policy must not have others sent to an address of his.
struct SecretKey {
  std::string name;
  std::string key;
  friend bool operator==(const SecretKey&, const SecretKey&) = default;
};

/// An HTTP(S) server, and what it is shown.
struct UsageEndpoint {
  std::string url;                          ///< http(s)://host[:port][/prefix]
  std::optional<SecretKey> bearer_token;    ///< or
  std::optional<SecretKey> basic_username;  ///< both of these
  std::optional<SecretKey> basic_password;
  std::optional<SecretKey> ca;               ///< PEM; absent: the system's roots
  std::optional<SecretKey> certificate;      ///< PEM, for mTLS, with
  std::optional<SecretKey> certificate_key;  ///< its key
  std::string server_name;                   ///< that the certificate is for; "": the host of the URL
  bool insecure_skip_verify = false;
  std::vector<std::pair<std::string, std::string>> headers;  ///< such as X-Scope-OrgID; sorted by name
  base::Duration timeout = base::seconds(10);                ///< of one request: 1s … 60s
  friend bool operator==(const UsageEndpoint&, const UsageEndpoint&) = default;
};

enum class UsageOf { kNode, kPod };
/// What a query's values are.
enum class UsageUnit {
  kAmount,    ///< cores, bytes…: the unit of the resource
  kFraction,  ///< of the node's allocatable, 0 … 1
  kPercent,   ///< of the node's allocatable, 0 … 100
};

/// One PromQL expression for the whole cluster.
struct UsageQuery {
  std::string resource;  ///< "cpu", "memory", or any other name, that thresholds may use
  UsageOf of = UsageOf::kNode;
  std::string preset;  ///< name of a ready-made expression (usage/presets.hpp); or
  std::string query;   ///< PromQL
  UsageUnit unit = UsageUnit::kAmount;
  std::string node_label;       ///< holds the node's name; "": node, else instance without its port
  std::string namespace_label;  ///< of kPod; "": namespace
  std::string pod_label;        ///< of kPod; "": pod
  friend bool operator==(const UsageQuery&, const UsageQuery&) = default;
};

enum class SmoothingMethod { kLatest, kMean, kEwma, kPercentile, kMeanPlusSigma };

/// Makes one figure of the samples of the last `window`.
struct UsageSmoothing {
  SmoothingMethod method = SmoothingMethod::kEwma;
  base::Duration window = base::minutes(5);  ///< 30s … 24h
  double alpha = 0.3;                        ///< kEwma: weight of the newest, 0 < alpha ≤ 1
  double percentile = 90;                    ///< kPercentile: 0 … 100
  double sigmas = 1;                         ///< kMeanPlusSigma: 0 … 10
  friend bool operator==(const UsageSmoothing&, const UsageSmoothing&) = default;
};

/// How usage is foreseen. A forecast that was worse than "as now" in its own back-test is not used.
struct UsageForecast {
  base::Duration horizon = base::minutes(60);  ///< how far ahead: 1m … 24h. What counts is the highest until then
  double percentile = 90;                      ///< of the forecast's own spread: 50 … 99.9
  base::Duration history = std::chrono::hours(48);  ///< asked of the source's history: 1h … 35 days
  base::Duration step = base::minutes(5);           ///< of the series: 1m … 1h
  friend bool operator==(const UsageForecast&, const UsageForecast&) = default;
};

struct UsageSource {
  std::string name;  ///< DNS label, unique in the policy
  UsageSourceType type = UsageSourceType::kMetricsServer;
  base::Duration max_age = base::minutes(2);    ///< an older sample is no sample: 10s … 24h
  base::Duration interval = base::seconds(30);  ///< 5s … 1h
  UsageEndpoint endpoint;                       ///< kPrometheus, kLoadWatcher
  std::vector<UsageQuery> queries;              ///< kPrometheus
  std::string aggregation;                      ///< kKoordinator: "" (now), avg, p50, p90, p95, p99
  UsageSmoothing smoothing;
  std::optional<UsageForecast> forecast;
  std::int32_t max_unknown_percent = 30;  ///< more nodes without a good sample than that: nothing is balanced by it
  friend bool operator==(const UsageSource&, const UsageSource&) = default;
};

/// Strict: complaints go to the list.
UsageSource read_usage_source(const Json& json, const FieldPath& path, FieldErrors& errors);
Json encode_usage_source(const UsageSource& source);
void validate_usage_sources(const std::vector<UsageSource>& sources, const FieldPath& at, FieldErrors& errors);

/// Parts that gates share.
void read_usage_endpoint(StrictObject& object, UsageEndpoint& endpoint);
void encode_usage_endpoint(const UsageEndpoint& endpoint, Json& json);
void validate_usage_endpoint(const UsageEndpoint& endpoint, const FieldPath& at, FieldErrors& errors);

}  // namespace api
