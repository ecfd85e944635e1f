#pragma once

#include <array>
#include <string_view>

namespace api {

// As what a service of the operator's configuration may be called: its `uses`.
inline constexpr std::string_view kServiceAsHook = "hook";        ///< hooks of a policy
inline constexpr std::string_view kServiceAsPatroni = "patroni";  ///< stateful-handoff: a Patroni cluster's REST API
inline constexpr std::string_view kServiceAsWebhook = "webhook";  ///< evictor webhook
inline constexpr std::array<std::string_view, 3> kServiceUses = {kServiceAsHook, kServiceAsPatroni, kServiceAsWebhook};

}  // namespace api
