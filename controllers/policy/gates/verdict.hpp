#pragma once

#include <string>

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

}  // namespace controllers
