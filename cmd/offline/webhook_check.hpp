#pragma once

/// The conformance kit of evacuator.dev/webhook/v1: goes through the contract against a running service and says per
/// rule whether it holds. docs/evictors/webhook.md lists the rules.

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
  std::string name;  ///< stable: "start-is-idempotent"
  std::string says;  ///< the rule in words
  Outcome outcome = Outcome::kSkipped;
  std::string detail;  ///< what was seen instead, or why it was skipped
};

/// Everything the kit needs from the world.
struct WebhookUnderTest {
  std::function<base::Result<kube::Response>(const kube::Request&)> call;
  /// The same without credentials; empty: none are configured, the rule is skipped.
  std::function<base::Result<kube::Response>(const kube::Request&)> call_anonymously;
  std::function<void(base::Duration)> pause;
  const base::Clock& clock;
  api::ObjectKey pod;
  std::string pod_uid;
  std::string node;
  std::string run;                              ///< makes this run's tokens new
  base::Duration patience = base::seconds(60);  ///< for an end state, and for an abort
  base::Duration poll = base::seconds(1);
};

/// Runs every rule, in order. Takes up to three times `patience`.
std::vector<WebhookRule> check_webhook(const WebhookUnderTest& target);

bool all_hold(const std::vector<WebhookRule>& rules);

}  // namespace cmd
