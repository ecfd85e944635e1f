#pragma once

#include <map>
#include <string>

#include "simulator/webhooks/configured.hpp"

namespace simulator {

/// Calls webhooks over HTTPS. `hosts` says where Services are: "name.namespace.svc:443" → "127.0.0.1:9443"; the
/// certificate must be for the name all the same. Others are called by their own names. Keeps connections open.
WebhookCaller https_caller(std::map<std::string, std::string> hosts = {});

}  // namespace simulator
