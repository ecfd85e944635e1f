#pragma once

#include <string>
#include <vector>

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
  /// What of it a server gets to see and may give back: token, password, both of basic auth in base64. Longest first.
  std::vector<std::string> sent;
  friend bool operator==(const EndpointSecrets&, const EndpointSecrets&) = default;
};

/// A server's text for people, with "[redacted]" for each of `secrets.sent` in it, whole or, at an
/// ellipsis or the end, its beginning. For any text.
std::string redacted(std::string text, const EndpointSecrets& secrets);

/// Reads them by name in namespace `ns`, each Secret once. No request if the endpoint names none. Errors name Secret
/// and key and quote nothing of them; kInvalid: not labelled, no such key, not usable, or holds credentials for other
/// servers than the endpoint's (kube::may_send_credentials()). Roots are no credentials.
base::Result<EndpointSecrets> read_endpoint_secrets(kube::Client& client, const std::string& ns,
                                                    const api::UsageEndpoint& endpoint);

}  // namespace usage
