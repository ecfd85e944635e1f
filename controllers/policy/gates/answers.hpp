#pragma once

/// Answers of gate servers, their decoders and the verdict. Pure; decoders accept any input. Errors do not quote the
/// answer, because a policy may name any address.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace controllers {

/// Combined verdict of a policy's gates.
struct GateVerdict {
  enum class Kind {
    kOpen,        ///< no gate holds
    kHolds,       ///< a gate holds
    kUnanswered,  ///< a gate has no valid answer, and its onError is Hold
  };
  Kind kind = Kind::kOpen;
  bool is_pending = false;  ///< kUnanswered because the first answer is still pending
  std::string text{};       ///< names the gate, and its value or why it has none; empty if kOpen

  bool stops() const { return kind != Kind::kOpen; }
  friend bool operator==(const GateVerdict&, const GateVerdict&) = default;
};

/// Maximum sizes of answers; longer ones are errors.
inline constexpr std::size_t kMaxQueryBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxAlertsBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxWebhookBytes = std::size_t{64} << 10;

struct GateAnswer {
  bool holds = false;
  std::string value;  ///< short and human-readable: "3 and 2 more series", "2 alerts, the first is KubeAPIDown"
  friend bool operator==(const GateAnswer&, const GateAnswer&) = default;
};

/// Prometheus' GET /api/v1/query. Holds while a value of the vector, or the scalar, is neither 0 nor NaN. Returns
/// kInvalid for strings, matrices, native histograms, `status: error` and anything else.
base::Result<GateAnswer> read_query_answer(std::string_view body);

/// Alertmanager's GET /api/v2/alerts. Holds while the answer contains an alert that is neither silenced nor inhibited.
base::Result<GateAnswer> read_alerts_answer(std::string_view body);

/// Webhook answer {"hold": true, "message": "…"}; message is optional.
base::Result<GateAnswer> read_webhook_answer(std::string_view body);

}  // namespace controllers
