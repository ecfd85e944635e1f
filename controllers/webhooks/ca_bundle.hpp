#pragma once

/// Webhook configurations: their kinds, guarded patches, and the caBundle by which the API server knows which
/// certificates to trust. Pure.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "kube/resource.hpp"

namespace controllers::webhooks {

inline constexpr kube::ResourceType kMutating{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
                                              "MutatingWebhookConfiguration", false};
inline constexpr kube::ResourceType kValidating{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
                                                "ValidatingWebhookConfiguration", false};

/// Returns a JSON patch, guarded by the resourceVersion that was read, that sets `field` of each webhook for which
/// `wanted` returns a value. Returns nullopt if nothing changes.
std::optional<api::Json> webhooks_patch(
    const api::Json& configuration, const std::string& field,
    const std::function<std::optional<api::Json>(const api::Json& webhook)>& wanted);

/// Returns a JSON patch that makes all webhooks of `configuration` trust `trusted` (PEM); nullopt if they do.
std::optional<api::Json> ca_patch(const api::Json& configuration, const std::string& trusted);

/// Returns whether the configuration has webhooks and each caBundle contains `ca` (PEM). If `ca` is empty, any
/// non-empty caBundle is sufficient, because the CA is managed externally.
bool trusts(const api::Json& configuration, const std::string& ca);

/// Names of the Services or hosts of the URLs by which the API server calls the webhooks. Sorted and unique.
std::vector<std::string> called_names(const api::Json& configuration);

}  // namespace controllers::webhooks
