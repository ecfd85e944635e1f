#pragma once

/// Responses of virt-api (wire-protocols.md#kubevirt), byte for byte. There are pure decisions over objects, and
/// functions that perform the reads and writes through a Port.

#include <optional>
#include <string>
#include <string_view>

#include "api/json/json.hpp"
#include "simulator/kubevirt/types.hpp"

namespace simulator::kubevirt {

inline constexpr std::string_view kLauncherEvictionWebhook = "virt-launcher-eviction-interceptor.kubevirt.io";
inline constexpr std::string_view kHotplugEvictionWebhook = "hotplug-pod-eviction-interceptor.kubevirt.io";
inline constexpr std::string_view kMigrationCreateWebhook = "migration-create-validator.kubevirt.io";

/// All inputs of the decision about one pods/eviction request.
struct EvictionCase {
  Config config;
  const api::Json* pod = nullptr;       ///< nullptr if reading it failed
  const api::Json* vmi = nullptr;       ///< VMI named by the domain annotation of the pod or of its owner launcher
  std::string vmi_error;                ///< why vmi is nullptr
  bool vmi_missing = false;             ///< vmi is nullptr because it does not exist
  const api::Json* launcher = nullptr;  ///< owner of a hotplug pod
  std::string launcher_error;           ///< why the launcher could not be read; empty if it was read or there is none
  const api::Json* eviction = nullptr;  ///< request body, nullptr if it cannot be decoded
  bool dry_run = false;                 ///< from the AdmissionReview
};

/// Decision about an eviction. An empty message means allowed.
struct EvictionDecision {
  std::string message{};
  std::optional<api::Json> mark{};  ///< merge patch of the VMI to apply before responding; none for a dry run
};
EvictionDecision decide_eviction(const EvictionCase& facts);

/// Returns true if this KubeVirt version calls the webhook for an eviction with this body.
bool intercepts(std::string_view webhook, const Config& config, const api::Json& eviction);
/// Reads the objects, decides and marks the VMI. Returns nullopt if allowed, else the message of a 429.
std::optional<std::string> review_eviction(Port& port, const api::ObjectKey& pod, const api::Json& eviction,
                                           bool dry_run);

struct MigrationRefusal {
  int code = 400;
  std::string reason{};
  std::string message{};
};
/// `by_controller` means that virt-controller itself creates the migration.
std::optional<MigrationRefusal> review_migration(const Port& port, const api::Json& vmim, bool by_controller);

/// A PUT of /apis/subresources.kubevirt.io/v1/namespaces/<ns>/<plural>/<name>/<subresource>.
struct VirtApiCall {
  std::string_view plural;
  std::string_view subresource;
  api::ObjectKey key;
  std::string_view accept;  ///< Accept header; empty accepts any media type
  std::string_view body;
};
/// Response of the subresources API. A success has no body; a refusal without `reason` is plain text, not a Status.
struct VirtApiAnswer {
  int code = 200;
  std::string reason{};
  std::string message{};
};
/// Handles PUT …/evacuate/cancel. The marked node, else the VMI's node, must exist without the drain taint, even if
/// there is no mark and the call is a no-op. Removes only the mark. A dry run writes nothing.
VirtApiAnswer cancel_evacuation(Port& port, const api::ObjectKey& vmi, std::string_view body);
/// Handles PUT …/virtualmachines/<name>/migrate. A VirtualMachine exists if a VMI names it as its owner.
VirtApiAnswer migrate_machine(Port& port, const api::ObjectKey& vm, std::string_view body);
/// Returns nullopt if virt-api has no such path. Its routes declare no media types, so a call is served only if Accept
/// contains */*, and otherwise gets 406.
std::optional<VirtApiAnswer> serve_virt_api(Port& port, const VirtApiCall& call);

}  // namespace simulator::kubevirt
