#pragma once

/// The caBundle of a MutatingWebhookConfiguration: by whose certificates the API server recognises us. Pure.

#include <optional>
#include <string>
#include <vector>

#include "api/json/json.hpp"

namespace controllers::webhooks {

/// JSON patch that makes all webhooks of `configuration` trust `trusted` (PEM), guarded by the version that was read;
/// nullopt: they do.
std::optional<api::Json> ca_patch(const api::Json& configuration, const std::string& trusted);

/// It has webhooks, and the caBundle of each holds `ca` (PEM). "": any that is not empty, since who signed the
/// certificate is somebody else's business.
bool trusts(const api::Json& configuration, const std::string& ca);

/// Under which names and addresses the API server calls the webhooks: those of their Services, or the hosts of their
/// URLs. Sorted, each once.
std::vector<std::string> called_names(const api::Json& configuration);

}  // namespace controllers::webhooks
