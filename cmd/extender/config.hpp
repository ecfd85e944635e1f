#pragma once

/// The configuration file of `evacuator extender` (docs/extender.md).

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json/json.hpp"
#include "api/policy/usage_source.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "cmd/extender/scores.hpp"

namespace extending {

struct ExtenderConfig {
  std::string address = "127.0.0.1:10280";         ///< plain HTTP on loopback, else HTTPS
  std::string health_address = "127.0.0.1:10281";  ///< plain HTTP, for probes
  std::string metrics_address = "127.0.0.1:10282";
  std::string cert_file, key_file;  ///< PEM; empty: not on loopback a certificate is made at the start
  std::string client_ca_file;       ///< PEM; not empty: the scheduler shows a certificate that one of these signed
  std::int64_t max_body_bytes = std::int64_t{8} << 20;
  std::vector<api::UsageSource> usage_sources;  ///< as in a policy's spec.usageSources
  std::string source;                           ///< which of them is gone by; "": the first
  std::vector<ScoreRule> rules;                 ///< none given: LoadVariationRiskBalancing
  std::vector<std::pair<std::string, double>> critical{{"cpu", 90}, {"memory", 95}};  ///< percent; empty: none
  std::vector<std::string> spared_namespaces{"kube-system"};
  bool placement_hints = true;
  std::string operator_namespace = "evacuator-system";  ///< where Secrets of sources are looked for
  double qps = 20;
  std::int32_t burst = 40;
  base::LogLevel log_level = base::LogLevel::kInfo;
  base::LogFormat log_format = base::LogFormat::kText;

  /// What rules and thresholds go by, sorted.
  std::vector<std::string> resources() const;
  /// The source that is gone by; nullptr: there are none.
  const api::UsageSource* chosen_source() const;
};

/// Reads the YAML file's text, strictly; absent fields keep their defaults. Errors carry field paths.
base::Result<ExtenderConfig> parse_extender_config(std::string_view yaml);

}  // namespace extending
