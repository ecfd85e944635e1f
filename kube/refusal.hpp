#pragma once

#include <string>
#include <string_view>

namespace kube {

/// The settings of a server outside of the cluster's API, as messages name them.
struct ServerSettings {
  std::string_view url;          ///< "url", "services[mover].url"
  std::string_view credentials;  ///< "bearerToken or basicAuth", "services[mover].tokenFile"
};

/// What an answer outside 2xx means for who set the server up, and the setting to look at. For any status; quotes
/// nothing of the answer. Pure.
std::string explain_refusal(int status, const ServerSettings& settings);

/// explain_refusal() names what to change: more use than the server's own words.
bool names_a_setting(int status);

}  // namespace kube
