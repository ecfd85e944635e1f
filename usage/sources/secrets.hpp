#pragma once

#include <string>

#include "api/policy/usage_source.hpp"
#include "base/result.hpp"
#include "kube/client.hpp"

namespace usage {

/// A Secret without this label (value "true") is not read: whoever writes a policy must not have any Secret of the
/// operator's namespace sent to an address of his.
inline constexpr std::string_view kCredentialsLabel = "evacuator.dev/usage-credentials";

/// What an endpoint's Secrets hold. Secret itself: never in a log, a message or a metric.
struct EndpointSecrets {
  std::string authorization;  ///< value of the header; "": none
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;
  friend bool operator==(const EndpointSecrets&, const EndpointSecrets&) = default;
};

/// Reads them by name in namespace `ns`, each Secret once. No request if the endpoint names none. Errors name Secret
/// and key and quote nothing of them; kInvalid: not labelled, no such key, not usable.
base::Result<EndpointSecrets> read_endpoint_secrets(kube::Client& client, const std::string& ns,
                                                    const api::UsageEndpoint& endpoint);

}  // namespace usage
