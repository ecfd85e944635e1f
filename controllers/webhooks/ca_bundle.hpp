#pragma once

/// The caBundle of a MutatingWebhookConfiguration: by whose certificates the API server recognises us. Pure.

#include <optional>
#include <string>

#include "api/json/json.hpp"

namespace controllers::webhooks {

/// JSON patch that makes all webhooks of `configuration` trust `trusted` (PEM), guarded by the version that was read;
/// nullopt: they do.
std::optional<api::Json> ca_patch(const api::Json& configuration, const std::string& trusted);

/// It has webhooks, and each has some caBundle: what others have put there counts.
bool has_ca_bundles(const api::Json& configuration);

}  // namespace controllers::webhooks
