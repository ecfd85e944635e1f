#pragma once

/// The caBundle of webhook configurations, from which the API server knows which certificates to trust. Pure.

#include <optional>
#include <string>
#include <vector>

#include "api/json/json.hpp"

namespace controllers::webhooks {

/// Returns a JSON patch that makes all webhooks of `configuration` trust `trusted` (PEM), guarded by the
/// resourceVersion that was read. Returns nullopt if they already do.
std::optional<api::Json> ca_patch(const api::Json& configuration, const std::string& trusted);

/// Returns whether the configuration has webhooks and each caBundle contains `ca` (PEM). If `ca` is empty, any
/// non-empty caBundle is sufficient, because the CA is managed externally.
bool trusts(const api::Json& configuration, const std::string& ca);

/// Names and addresses under which the API server calls the webhooks: names of their Services, or hosts of their URLs.
/// Sorted and unique.
std::vector<std::string> called_names(const api::Json& configuration);

}  // namespace controllers::webhooks
