#pragma once

#include <array>
#include <string_view>

namespace api {

// Values of `uses` of a service in the operator's configuration.
inline constexpr std::string_view kServiceAsHook = "hook";        ///< hooks of a policy
inline constexpr std::string_view kServiceAsPatroni = "patroni";  ///< stateful-handoff: REST API of a Patroni cluster
inline constexpr std::string_view kServiceAsWebhook = "webhook";  ///< evictor webhook
inline constexpr std::array<std::string_view, 3> kServiceUses = {kServiceAsHook, kServiceAsPatroni, kServiceAsWebhook};

}  // namespace api
