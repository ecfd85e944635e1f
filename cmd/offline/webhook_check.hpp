#pragma once

/// Conformance test for evacuator.dev/webhook/v1: runs the contract against a live service and reports the result of
/// each rule. docs/evictors/webhook.md lists the rules.

#include <functional>
#include <string>
#include <vector>

#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/transport.hpp"

namespace cmd {

struct WebhookRule {
  enum class Outcome { kPassed, kFailed, kSkipped };
  std::string name;  ///< stable identifier, such as "start-is-idempotent"
  std::string says;  ///< human-readable description of the rule
  Outcome outcome = Outcome::kSkipped;
  std::string detail;  ///< what was observed instead, or why the rule was skipped
};

/// Dependencies of the test.
struct WebhookUnderTest {
  std::function<base::Result<kube::Response>(const kube::Request&)> call;
  /// Sends a request without credentials. If empty (no credentials configured), the rule is skipped.
  std::function<base::Result<kube::Response>(const kube::Request&)> call_anonymously;
  std::function<void(base::Duration)> pause;
  const base::Clock& clock;
  api::ObjectKey pod;
  std::string pod_uid;
  std::string node;
  std::string run;                              ///< makes the tokens of this run unique
  base::Duration patience = base::seconds(60);  ///< timeout for reaching an end state, and for an abort
  base::Duration poll = base::seconds(1);
};

/// Runs every rule in order. Takes up to three times `patience`.
std::vector<WebhookRule> check_webhook(const WebhookUnderTest& target);

bool all_hold(const std::vector<WebhookRule>& rules);

}  // namespace cmd
