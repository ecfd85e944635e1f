#pragma once

#include <atomic>

#include "kube/client.hpp"
#include "simulator/kubevirt/types.hpp"

namespace fake_kubevirt {

/// Connects the simulator's KubeVirt rules to a real API server. Thread-safe.
class ClientPort final : public simulator::kubevirt::Port {
 public:
  explicit ClientPort(kube::Client& client) : client_(client) {}

  base::Result<simulator::Object> get(const kube::ResourceType& type, const api::ObjectKey& key) const override;
  /// Returns an empty list if the server does not serve the kind.
  base::Result<std::vector<simulator::Object>> list(const kube::ResourceType& type) const override;
  base::Status carry_out(const simulator::kubevirt::Step& step) override;

 private:
  base::Status merge(const simulator::kubevirt::Step& step, api::Json body, std::string_view subresource);
  base::Status end_pod(const simulator::kubevirt::Step& step);

  kube::Client& client_;
  std::atomic<unsigned> endings_{0};
};

}  // namespace fake_kubevirt
