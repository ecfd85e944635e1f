#pragma once

/// Admission webhooks as the API server calls them: MutatingWebhookConfigurations and ValidatingWebhookConfigurations
/// in the store, AdmissionReviews of admission.k8s.io/v1.

#include <functional>
#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "simulator/api/failure.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// One call of a webhook.
struct WebhookCall {
  std::string host;    ///< "127.0.0.1:9443"; of a Service "name.namespace.svc:443": what its certificate must be for
  std::string path;    ///< with query: "/place-pod?timeout=1s"
  std::string ca_pem;  ///< whom to trust; empty: the system's roots
  base::milliseconds timeout{10'000};
  std::string body;
};
/// The body of an answer 200; an error is what follows `failed calling webhook …`. Any thread; may block.
using WebhookCaller = std::function<base::Result<std::string>(const WebhookCall& call)>;

/// What is to be written, and by whom.
struct WriteRequest {
  std::string user;
  std::vector<std::string> groups;
  kube::ResourceType type;
  api::ObjectKey key;  ///< the name may be empty
  bool dry_run = false;
  std::string subresource{};
  const api::Json* old_object = nullptr;  ///< nullptr: a creation
};

/// Calls the webhooks that concern a write, in the order of their configurations' names: rules, namespaceSelector,
/// objectSelector, failurePolicy, timeoutSeconds, sideEffects, JSON patches and caBundle count; matchConditions,
/// matchPolicy, reinvocation, deletions and warnings do not. Thread-safe.
class ConfiguredWebhooks {
 public:
  /// `store` must outlive it.
  ConfiguredWebhooks(const Store& store, WebhookCaller caller) : store_(store), caller_(std::move(caller)) {}

  /// There are no MutatingWebhookConfigurations: mutate() would change nothing.
  bool mutates_nothing() const;
  /// The object as the mutating webhooks left it.
  Outcome<api::Json> mutate(const WriteRequest& write, api::Json object) const;
  /// What the first validating webhook that objects says.
  CheckResult validate(const WriteRequest& write, const api::Json& object) const;

 private:
  bool concerns(const api::Json& webhook, const WriteRequest& write, const api::Json& object) const;
  /// The object as this one left it.
  Outcome<api::Json> call(const api::Json& webhook, const WriteRequest& write, api::Json object) const;

  const Store& store_;
  const WebhookCaller caller_;
};

}  // namespace simulator
