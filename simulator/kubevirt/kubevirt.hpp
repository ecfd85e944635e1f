#pragma once

#include <string_view>

#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "simulator/kubevirt/types.hpp"

namespace simulator::kubevirt {

/// Installs KubeVirt: the CRDs of `version`, virt-api's webhooks and subresources, the controllers. The KubeVirt object
/// controls their behavior: add objects::kubevirt() of the same version. Call before any traffic. Cluster and server
/// must outlive each other's use.
base::Status install(Cluster& cluster, ApiServer& server, std::string_view version = kDefaultVersion);

}  // namespace simulator::kubevirt
