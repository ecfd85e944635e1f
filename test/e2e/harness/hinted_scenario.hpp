#pragma once

#include <cstdint>
#include <string>

#include "test/e2e/harness/scenario.hpp"

namespace e2e {

/// A scenario whose API server asks the operator about new pods (config/placement-webhook). Takes the webhook and its
/// roles back in the end.
class HintedScenario : public Scenario {
 protected:
  HintedScenario();
  ~HintedScenario() override;

  /// Starts an operator that serves the webhook, and lets the server call `called` for it; 0: the operator's port.
  /// Returns when the server trusts the operator's certificate.
  Operator& start_hinting_operator(std::uint16_t called = 0);

 private:
  static std::string role();
};

}  // namespace e2e
