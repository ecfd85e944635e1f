#pragma once

#include <memory>
#include <optional>
#include <string>

#include "simulator/actor.hpp"
#include "simulator/api/server.hpp"
#include "simulator/event_recorder.hpp"
#include "simulator/journal.hpp"
#include "simulator/kubevirt/controllers.hpp"
#include "simulator/kubevirt/types.hpp"
#include "simulator/store.hpp"

namespace simulator {
class Cluster;
}

namespace simulator::kubevirt {

/// Port to the simulator's store.
class StorePort final : public Port {
 public:
  /// `events` may be nullptr, which disables Events. Both must outlive the port.
  StorePort(Store& store, EventRecorder* events) : store_(store), events_(events) {}

  base::Result<Object> get(const kube::ResourceType& type, const api::ObjectKey& key) const override;
  base::Result<std::vector<Object>> list(const kube::ResourceType& type) const override;
  base::Status carry_out(const Step& step) override;

 private:
  base::Status patch(const Step& step, Part part);

  Store& store_;
  EventRecorder* events_;
};

/// KubeVirt's controllers in the simulated cluster: every VirtualMachineInstance gets its launcher pod, marked ones
/// migrate. Behavior is set by annotations such as behaviour::kMigrationScript. No cost without VMIs.
class KubeVirt final : public Actor {
 public:
  KubeVirt(Store& store, EventRecorder& events);

  std::string_view name() const override { return "kubevirt"; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override { return due_; }

 private:
  Journal journal_;
  StorePort port_;
  bool dirty_ = false;
  std::optional<base::TimePoint> due_;
};

/// Installs KubeVirt: the CRDs of `version`, virt-api's webhooks and subresources, the controllers. The KubeVirt object
/// controls their behavior: add objects::kubevirt() of the same version. Call before any traffic. Cluster and server
/// must outlive each other's use.
base::Status install(Cluster& cluster, ApiServer& server, std::string_view version = kDefaultVersion);

}  // namespace simulator::kubevirt
