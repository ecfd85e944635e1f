#pragma once

/// Mutating admission webhooks as the API server calls them: MutatingWebhookConfigurations in the store,
/// AdmissionReviews of admission.k8s.io/v1.

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

/// What is to be created, and by whom.
struct Creation {
  std::string user;
  std::vector<std::string> groups;
  kube::ResourceType type;
  api::ObjectKey key;  ///< the name may be empty
  bool dry_run = false;
};

/// Calls the webhooks that concern a creation, in the order of their configurations' names: rules, namespaceSelector,
/// objectSelector, failurePolicy, timeoutSeconds, sideEffects, JSON patches and caBundle count; matchConditions,
/// matchPolicy and reinvocation do not. Thread-safe.
class MutatingWebhooks {
 public:
  /// `store` must outlive it.
  MutatingWebhooks(const Store& store, WebhookCaller caller) : store_(store), caller_(std::move(caller)) {}

  /// There are no configurations: admit() would change nothing.
  bool idle() const;
  /// The object as the webhooks left it.
  Outcome<api::Json> admit(const Creation& creation, api::Json object) const;

 private:
  bool concerns(const api::Json& webhook, const Creation& creation, const api::Json& object) const;
  Outcome<api::Json> call(const api::Json& webhook, const Creation& creation, api::Json object) const;

  const Store& store_;
  const WebhookCaller caller_;
};

}  // namespace simulator
