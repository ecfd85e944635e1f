#pragma once

/// What the servers of gates answer. Pure; survives any input. Errors quote nothing of the answer: it is of whoever
/// answers at an address that a policy names.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace controllers {

/// Longer answers count as none.
inline constexpr std::size_t kMaxQueryBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxAlertsBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxWebhookBytes = std::size_t{64} << 10;

struct GateAnswer {
  bool holds = false;
  std::string value;  ///< for people, short: "3 and 2 more series", "2 alerts, the first is KubeAPIDown"
  friend bool operator==(const GateAnswer&, const GateAnswer&) = default;
};

/// Prometheus' GET /api/v1/query. Holds while the vector has a value (or the scalar is one) that is neither 0 nor NaN.
/// kInvalid: strings, matrices, native histograms, `status: error`, anything else.
base::Result<GateAnswer> read_query_answer(std::string_view body);

/// Alertmanager's GET /api/v2/alerts. Holds while an alert is in it that is neither silenced nor inhibited.
base::Result<GateAnswer> read_alerts_answer(std::string_view body);

/// A service's {"hold": true, "message": "…"}; message may be left out.
base::Result<GateAnswer> read_webhook_answer(std::string_view body);

}  // namespace controllers
