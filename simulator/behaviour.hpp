#pragma once

/// Annotations that tell the simulated cluster how one pod or node behaves. Durations are "2", "0.5" (seconds) or
/// "1m30s".

#include <optional>
#include <string_view>

#include "api/json/json.hpp"
#include "base/clock.hpp"

namespace simulator::behaviour {

// --- on pods (usually through the pod template)
inline constexpr std::string_view kStartSeconds = "simulator.evacuator.dev/start-seconds";  ///< bound → Running
inline constexpr std::string_view kReadySeconds = "simulator.evacuator.dev/ready-seconds";  ///< Running → Ready
inline constexpr std::string_view kNeverReady =
    "simulator.evacuator.dev/never-ready";  ///< present: not Ready; may come and go
inline constexpr std::string_view kStopSeconds =
    "simulator.evacuator.dev/stop-seconds";  ///< deleted → gone; the grace period is the limit
inline constexpr std::string_view kRunSeconds =
    "simulator.evacuator.dev/run-seconds";  ///< Running → exits (and restarts, by restartPolicy)
inline constexpr std::string_view kExitCode = "simulator.evacuator.dev/exit-code";  ///< of that exit; default 0
inline constexpr std::string_view kRestarts = "simulator.evacuator.dev/restarts";   ///< restartCount to begin with
inline constexpr std::string_view kWaitingReason =
    "simulator.evacuator.dev/waiting-reason";                                    ///< never starts: ImagePullBackOff…
inline constexpr std::string_view kHandoff = "simulator.evacuator.dev/handoff";  ///< script of the handoff operator
inline constexpr std::string_view kBackground =
    "simulator.evacuator.dev/background";  ///< "move=10s", "fail=5s", "silent"
inline constexpr std::string_view kRoll =
    "simulator.evacuator.dev/roll";  ///< operators that remove marked pods: "roll=120s", "drop=5s", "never"
inline constexpr std::string_view kSaysGone =
    "simulator.evacuator.dev/says-gone";  ///< Couchbase's hook says 404 that often of a living pod
inline constexpr std::string_view kVitess = "simulator.evacuator.dev/vitess";  ///< "ack=1s, finish=20s, withdraw=5s"

// --- on VirtualMachineInstances and the KubeVirt object: see simulator/kubevirt/script.hpp
inline constexpr std::string_view kMigrationScript = "simulator.evacuator.dev/migration";
inline constexpr std::string_view kNotMigratable =
    "simulator.evacuator.dev/not-migratable";  ///< "<reason>: <message>" of condition LiveMigratable
inline constexpr std::string_view kRestartVm =
    "simulator.evacuator.dev/restart-vm";  ///< present: a VMI that ended is made again, as by a VirtualMachine
inline constexpr std::string_view kVirtApi =
    "simulator.evacuator.dev/virt-api";  ///< "down": its webhooks do not answer; "unauthorized": subresources answer
                                         ///< 401
inline constexpr std::string_view kResponders =
    "simulator.evacuator.dev/responders";  ///< of native Evictions: ResponderScript of
                                           ///< simulator/eviction_request/sync.hpp

// --- on nodes
inline constexpr std::string_view kDead =
    "simulator.evacuator.dev/dead";  ///< present: its kubelet does not answer; may come and go

// --- on PersistentVolumeClaims
inline constexpr std::string_view kZonal =
    "simulator.evacuator.dev/zonal";  ///< present: the volume lives in the first pod's zone

/// True if the object carries that annotation, whatever its value.
bool is_set(const api::Json& object, std::string_view annotation);
/// The annotation's duration; absent, malformed or negative: nullopt.
std::optional<base::Duration> duration_of(const api::Json& object, std::string_view annotation);
/// Reads "2", "0.5" or Go's "1m30s"; never negative, at most ten years.
std::optional<base::Duration> parse_duration(std::string_view text);
/// The annotation's integer, or `otherwise`.
int integer_of(const api::Json& object, std::string_view annotation, int otherwise);

}  // namespace simulator::behaviour
