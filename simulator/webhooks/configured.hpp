#pragma once

/// Calls admission webhooks like the API server: MutatingWebhookConfigurations and ValidatingWebhookConfigurations in
/// the store, AdmissionReviews of admission.k8s.io/v1.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "simulator/api/failure.hpp"
#include "simulator/store.hpp"

namespace simulator {

struct WebhookCall {
  std::string host;    ///< "127.0.0.1:9443" or, for a Service, "name.namespace.svc:443"; the certificate must be valid
                       ///< for this name
  std::string path;    ///< includes the query: "/place-pod?timeout=1s"
  std::string ca_pem;  ///< trusted CA certificates; if empty, the system's
  base::milliseconds timeout{10'000};
  std::string body;
};
/// Returns the body of a response with status 200. An error's message follows `failed calling webhook …`. Called by any
/// thread; may block.
using WebhookCaller = std::function<base::Result<std::string>(const WebhookCall& call)>;

/// Calls webhooks over HTTPS. `hosts` maps Services to addresses ("name.namespace.svc:443" → "127.0.0.1:9443"); the
/// certificate must still be valid for the Service name. Other hosts are resolved by name. Keeps connections open.
WebhookCaller https_caller(std::map<std::string, std::string> hosts = {});

struct WriteRequest {
  std::string user;
  std::vector<std::string> groups;
  kube::ResourceType type;
  api::ObjectKey key;  ///< the name may be empty
  bool dry_run = false;
  std::string subresource{};
  const api::Json* old_object = nullptr;  ///< nullptr for a create
};

/// Calls the webhooks that apply to a write, ordered by the names of their configurations. Supports rules,
/// namespaceSelector, objectSelector, failurePolicy, timeoutSeconds, sideEffects, JSON patches and caBundle; not
/// supported are matchConditions, matchPolicy, reinvocation, deletions and warnings. Thread-safe.
class ConfiguredWebhooks {
 public:
  /// `store` must outlive this object.
  ConfiguredWebhooks(const Store& store, WebhookCaller caller) : store_(store), caller_(std::move(caller)) {}

  /// Returns true if there are no MutatingWebhookConfigurations, so mutate() is a no-op.
  bool mutates_nothing() const;
  /// Returns the object after all mutating webhooks.
  Outcome<api::Json> mutate(const WriteRequest& write, api::Json object) const;
  /// Returns the denial of the first validating webhook that denies the write.
  CheckResult validate(const WriteRequest& write, const api::Json& object) const;

 private:
  bool concerns(const api::Json& webhook, const WriteRequest& write, const api::Json& object) const;
  /// Returns the object after this webhook.
  Outcome<api::Json> call(const api::Json& webhook, const WriteRequest& write, api::Json object) const;

  const Store& store_;
  const WebhookCaller caller_;
};

}  // namespace simulator
