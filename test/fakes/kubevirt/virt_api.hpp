#pragma once

#include "http_server/server.hpp"
#include "simulator/kubevirt/types.hpp"

namespace fake_kubevirt {

/// virt-api over HTTPS: the three webhooks and the aggregated API group subresources.kubevirt.io.
http_server::Handler virt_api(simulator::kubevirt::Port& port);

inline constexpr const char* kLauncherPath = "/launcher-eviction-validate";
inline constexpr const char* kHotplugPath = "/hotplug-pod-eviction-validate";
inline constexpr const char* kMigrationPath = "/migration-validate-create";

}  // namespace fake_kubevirt
