#pragma once

#include <string>

namespace controllers {

/// What a policy's gates say together.
struct GateVerdict {
  enum class Kind {
    kOpen,        ///< none holds
    kHolds,       ///< one says so
    kUnanswered,  ///< one has no answer that counts, and its onError is Hold
  };
  Kind kind = Kind::kOpen;
  bool not_asked_yet = false;  ///< kUnanswered, and the first answer is on its way
  std::string text{};          ///< which gate, and its value or why it has none; empty: kOpen

  bool stops() const { return kind != Kind::kOpen; }
  friend bool operator==(const GateVerdict&, const GateVerdict&) = default;
};

}  // namespace controllers
