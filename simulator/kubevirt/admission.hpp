#pragma once

/// What virt-api says to requests (wire-protocols.md#kubevirt), byte for byte. Pure decisions over objects, and the
/// same with their reads and writes through a Port.

#include <optional>
#include <string>
#include <string_view>

#include "api/json/json.hpp"
#include "simulator/kubevirt/types.hpp"

namespace simulator::kubevirt {

inline constexpr std::string_view kLauncherEvictionWebhook = "virt-launcher-eviction-interceptor.kubevirt.io";
inline constexpr std::string_view kHotplugEvictionWebhook = "hotplug-pod-eviction-interceptor.kubevirt.io";
inline constexpr std::string_view kMigrationCreateWebhook = "migration-create-validator.kubevirt.io";

/// Everything that the answer to one pods/eviction depends on.
struct EvictionCase {
  Config config;
  const api::Json* pod = nullptr;       ///< nullptr: reading it failed
  const api::Json* vmi = nullptr;       ///< named by the pod's (or its owner launcher's) domain annotation
  std::string vmi_error;                ///< why vmi is nullptr
  bool vmi_missing = false;             ///< because there is none
  const api::Json* launcher = nullptr;  ///< hotplug pods: the owner
  std::string launcher_error;           ///< why that could not be read; empty: it was, or there is none
  const api::Json* eviction = nullptr;  ///< the body; nullptr: not decodable
  bool dry_run = false;                 ///< of the AdmissionReview
};

/// No message: allowed.
struct EvictionDecision {
  std::string message{};
  std::optional<api::Json> mark{};  ///< merge patch of the VMI to carry out before that is said; a dry run has none
};
EvictionDecision decide_eviction(const EvictionCase& facts);

/// Whether the webhook of that name is asked about an eviction with this body, in this version.
bool intercepts(std::string_view webhook, const Config& config, const api::Json& eviction);
/// Reads, decides and marks. nullopt: allowed; otherwise the message of a 429.
std::optional<std::string> review_eviction(Port& port, const api::ObjectKey& pod, const api::Json& eviction,
                                           bool dry_run);

/// Why a new migration object is refused.
struct MigrationRefusal {
  int code = 400;
  std::string reason{};
  std::string message{};
};
/// `by_controller`: virt-controller itself asks.
std::optional<MigrationRefusal> review_migration(const Port& port, const api::Json& vmim, bool by_controller);

/// A PUT of /apis/subresources.kubevirt.io/v1/namespaces/<ns>/<plural>/<name>/<subresource>.
struct VirtApiCall {
  std::string_view plural;
  std::string_view subresource;
  api::ObjectKey key;
  std::string_view accept;  ///< header Accept; empty: any media type
  std::string_view body;
};
/// An answer of the subresources API. A success has no body; a refusal without `reason` is plain text, not a Status.
struct VirtApiAnswer {
  int code = 200;
  std::string reason{};
  std::string message{};
};
/// PUT …/evacuate/cancel. The node that is marked, else the VMI's own, must be there and free of the drain taint, also
/// when nothing is marked and so nothing is to do. Takes only the mark off. A dry run writes nothing.
VirtApiAnswer cancel_evacuation(Port& port, const api::ObjectKey& vmi, std::string_view body);
/// PUT …/virtualmachines/<name>/migrate. A VirtualMachine exists as far as a VMI names it as its owner.
VirtApiAnswer migrate_machine(Port& port, const api::ObjectKey& vm, std::string_view body);
/// nullopt: virt-api has no such path. Its routes declare no media type that they produce: a call is served only if
/// Accept contains */*, whatever else it names, and otherwise answered 406.
std::optional<VirtApiAnswer> serve_virt_api(Port& port, const VirtApiCall& call);

}  // namespace simulator::kubevirt
