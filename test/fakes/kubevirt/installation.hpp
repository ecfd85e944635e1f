#pragma once

#include <cstdint>
#include <string>

#include "kube/client.hpp"

namespace fake_kubevirt {

/// Applies the objects of a KubeVirt installation: definitions, namespace and KubeVirt object of that version, the
/// validating webhooks and the aggregated API that point to this process. Waits until the kinds are served.
base::Status install(kube::Client& client, const std::string& version, std::uint16_t port, const std::string& ca_pem);

}  // namespace fake_kubevirt
