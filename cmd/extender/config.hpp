#pragma once

/// Configuration file of `evacuator extender` (docs/extender.md).

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json/json.hpp"
#include "api/policy/usage_source.hpp"
#include "base/log.hpp"
#include "base/result.hpp"

namespace extender {

/// Parameters of Trimaran's LoadVariationRiskBalancing. Risk is half of the sum of mean load and deviation, both as
/// fractions of the node; the score is 100 × (1 − risk). The deviation is raised to the power of 1/`sensitivity` and
/// multiplied by `margin`.
struct RiskArgs {
  std::vector<std::string> resources{"cpu", "memory"};
  double margin = 1;
  double sensitivity = 1;
  friend bool operator==(const RiskArgs&, const RiskArgs&) = default;
};

/// A scoring rule of the configuration with its relative weight.
struct ScoreRule {
  enum class Kind { kTargetLoadPacking, kLoadVariationRiskBalancing };
  Kind kind = Kind::kLoadVariationRiskBalancing;
  double weight = 1;
  RiskArgs risk{};                                       ///< for kLoadVariationRiskBalancing
  std::vector<std::pair<std::string, double>> target{};  ///< for kTargetLoadPacking: percentage by resource
  friend bool operator==(const ScoreRule&, const ScoreRule&) = default;
};

struct ExtenderConfig {
  std::string address = "127.0.0.1:10280";         ///< plain HTTP on loopback addresses, else HTTPS
  std::string health_address = "127.0.0.1:10281";  ///< plain HTTP, for probes
  std::string metrics_address = "127.0.0.1:10282";
  std::string cert_file, key_file;  ///< PEM files; if empty and not on loopback, a certificate is generated at startup
  std::string
      client_ca_file;  ///< PEM file; if set, the scheduler must present a certificate signed by one of these CAs
  std::int64_t max_body_bytes = std::int64_t{8} << 20;
  std::vector<api::UsageSource> usage_sources;  ///< same format as spec.usageSources of a policy
  std::string source;                           ///< name of the source to use, the first one if empty
  std::vector<ScoreRule> rules;                 ///< default: LoadVariationRiskBalancing
  std::vector<std::pair<std::string, double>> critical{{"cpu", 90},
                                                       {"memory", 95}};  ///< thresholds in percent, none if empty
  std::vector<std::string> exempt_namespaces{"kube-system"};
  bool placement_hints = true;
  std::string operator_namespace = "evacuator-system";  ///< namespace of the Secrets that sources reference
  double qps = 20;
  std::int32_t burst = 40;
  base::LogLevel log_level = base::LogLevel::kInfo;
  base::LogFormat log_format = base::LogFormat::kText;

  /// Returns the resources that rules and thresholds use, sorted.
  std::vector<std::string> resources() const;
  /// Returns the source to use, nullptr if none is configured.
  const api::UsageSource* chosen_source() const;
};

/// Parses the YAML text strictly; absent fields keep their defaults. Errors contain field paths.
base::Result<ExtenderConfig> parse_extender_config(std::string_view yaml);

}  // namespace extender
