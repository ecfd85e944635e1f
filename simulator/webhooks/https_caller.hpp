#pragma once

#include <map>
#include <string>

#include "simulator/webhooks/configured.hpp"

namespace simulator {

/// Calls webhooks over HTTPS. `hosts` maps Services to addresses ("name.namespace.svc:443" → "127.0.0.1:9443"); the
/// certificate must still be valid for the Service name. Other hosts are resolved by name. Keeps connections open.
WebhookCaller https_caller(std::map<std::string, std::string> hosts = {});

}  // namespace simulator
