#pragma once

#include <string>
#include <vector>

#include "api/policy/usage_source.hpp"
#include "base/result.hpp"
#include "kube/client.hpp"

namespace usage {

/// Label (value "true") of the Secrets that may be read. It prevents a policy's author from having arbitrary Secrets of
/// the operator's namespace sent to a chosen address.
inline constexpr std::string_view kCredentialsLabel = "evacuator.dev/usage-credentials";

/// Content of an endpoint's Secrets. Secret: must not appear in logs, messages or metrics.
struct EndpointSecrets {
  std::string authorization;  ///< value of the header, "" for none
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;
  /// Parts that a server receives and may echo: token, password, and the base64 form of basic auth. Longest first.
  std::vector<std::string> sent;
  friend bool operator==(const EndpointSecrets&, const EndpointSecrets&) = default;
};

/// Returns a server's text for display. Replaces each of `secrets.sent` by "[redacted]", also if the text is truncated
/// within it at an ellipsis or at its end. Accepts any text.
std::string redacted(std::string text, const EndpointSecrets& secrets);

/// Reads the Secrets by name in namespace `ns`, each once. Sends no request if the endpoint names none. Errors name the
/// Secret and the key and never quote content. Returns kInvalid if a Secret is not labelled, lacks the key, is
/// unusable, or is for servers other than the endpoint's (kube::may_send_credentials()). CA certificates do not
/// count as credentials.
base::Result<EndpointSecrets> read_endpoint_secrets(kube::Client& client, const std::string& ns,
                                                    const api::UsageEndpoint& endpoint);

}  // namespace usage
