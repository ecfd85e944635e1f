#pragma once

#include <cstdint>
#include <string>

#include "test/e2e/harness/scenario.hpp"

namespace e2e {

/// A scenario whose API server calls the operator for new pods (config/placement-webhook). Removes the webhook and its
/// roles at the end.
class HintedScenario : public Scenario {
 protected:
  HintedScenario();
  ~HintedScenario() override;

  /// Starts an operator that serves the webhook, and configures the server to call port `called`, or the operator's
  /// port if 0. Returns when the server trusts the operator's certificate.
  Operator& start_hinting_operator(std::uint16_t called = 0);

 private:
  static std::string role();
};

}  // namespace e2e
