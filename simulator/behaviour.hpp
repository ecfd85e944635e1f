#pragma once

/// Annotations that control the behavior of a pod or node in the simulated cluster. Durations are "2", "0.5" (seconds)
/// or "1m30s".

#include <optional>
#include <string_view>

#include "api/json/json.hpp"
#include "base/clock.hpp"

namespace simulator::behaviour {

// --- on pods (usually through the pod template)
inline constexpr std::string_view kStartSeconds = "simulator.evacuator.dev/start-seconds";  ///< from bound to Running
inline constexpr std::string_view kReadySeconds = "simulator.evacuator.dev/ready-seconds";  ///< from Running to Ready
inline constexpr std::string_view kNeverReady =
    "simulator.evacuator.dev/never-ready";  ///< if present, the pod is not Ready; may be added and removed
inline constexpr std::string_view kStopSeconds =
    "simulator.evacuator.dev/stop-seconds";  ///< from deletion to removal; bounded by the grace period
inline constexpr std::string_view kRunSeconds =
    "simulator.evacuator.dev/run-seconds";  ///< from Running to exit (restarts by restartPolicy)
inline constexpr std::string_view kExitCode =
    "simulator.evacuator.dev/exit-code";  ///< exit code after run-seconds, default 0
inline constexpr std::string_view kRestarts = "simulator.evacuator.dev/restarts";  ///< initial restartCount
inline constexpr std::string_view kWaitingReason =
    "simulator.evacuator.dev/waiting-reason";  ///< the pod never starts; waiting reason such as ImagePullBackOff
inline constexpr std::string_view kHandoff = "simulator.evacuator.dev/handoff";  ///< script of the handoff operator
inline constexpr std::string_view kBackground =
    "simulator.evacuator.dev/background";  ///< "move=10s", "fail=5s", "silent"
inline constexpr std::string_view kRoll =
    "simulator.evacuator.dev/roll";  ///< operators that remove marked pods: "roll=120s", "drop=5s", "never"
inline constexpr std::string_view kSaysGone =
    "simulator.evacuator.dev/says-gone";  ///< number of 404 responses of Couchbase's hook for a living pod
inline constexpr std::string_view kVitess = "simulator.evacuator.dev/vitess";  ///< "ack=1s, finish=20s, withdraw=5s"

// --- on VirtualMachineInstances and the KubeVirt object, see simulator/kubevirt/script.hpp
inline constexpr std::string_view kMigrationScript = "simulator.evacuator.dev/migration";
inline constexpr std::string_view kNotMigratable =
    "simulator.evacuator.dev/not-migratable";  ///< "<reason>: <message>" of condition LiveMigratable
inline constexpr std::string_view kRestartVm =
    "simulator.evacuator.dev/restart-vm";  ///< if present, an ended VMI is recreated, as by a VirtualMachine
inline constexpr std::string_view kVirtApi =
    "simulator.evacuator.dev/virt-api";  ///< "down": webhooks do not respond; "unauthorized": subresources return 401
inline constexpr std::string_view kResponders =
    "simulator.evacuator.dev/responders";  ///< responders to EvictionRequests: ResponderScript of
                                           ///< simulator/eviction_request/sync.hpp

// --- on nodes
inline constexpr std::string_view kDead =
    "simulator.evacuator.dev/dead";  ///< if present, the kubelet does not respond; may be added and removed

// --- on PersistentVolumeClaims
inline constexpr std::string_view kZonal =
    "simulator.evacuator.dev/zonal";  ///< if present, the volume is in the zone of the first pod that uses it

bool is_set(const api::Json& object, std::string_view annotation);
/// Returns the duration in the annotation, nullopt if it is absent, malformed or negative.
std::optional<base::Duration> duration_of(const api::Json& object, std::string_view annotation);
/// Parses "2", "0.5" or Go's "1m30s". Returns nullopt for negative durations and for more than ten years.
std::optional<base::Duration> parse_duration(std::string_view text);
int integer_of(const api::Json& object, std::string_view annotation, int otherwise);

}  // namespace simulator::behaviour
