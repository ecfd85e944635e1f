#pragma once

#include <string>
#include <string_view>

namespace kube {

/// Names of the settings of a server outside the cluster's API, for messages.
struct ServerSettings {
  std::string_view url;          ///< "url", "services[mover].url"
  std::string_view credentials;  ///< "bearerToken or basicAuth", "services[mover].tokenFile"
};

/// Explains an answer outside 2xx to the administrator and names the setting to check. Accepts any status and never
/// quotes the answer. Pure.
std::string explain_refusal(int status, const ServerSettings& settings);

/// Returns true if explain_refusal() names a setting to change, which is more useful than the server's message.
bool names_a_setting(int status);

}  // namespace kube
