#pragma once

/// The DeschedulerPolicy kind (evacuator.dev/v1alpha1, cluster-scoped): defines a good placement. Fields:
/// docs/concepts/policy.md. Evictability and strategies: upstream-semantics.md.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/descheduler_policy/node_classes.hpp"
#include "api/evacuation.hpp"
#include "api/hooks.hpp"
#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "api/limits.hpp"
#include "api/meta/condition.hpp"
#include "api/meta/object_meta.hpp"
#include "api/policy/convergence.hpp"
#include "api/policy/gates.hpp"
#include "api/policy/schedule.hpp"
#include "api/policy/strategy_state.hpp"
#include "api/policy/usage_source.hpp"

namespace api {

enum class PolicyMode { kDryRun, kManual, kAutomatic };
std::string_view to_string(PolicyMode mode);

/// {include, exclude}: at most one of them is set.
struct NamespaceFilter {
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  friend bool operator==(const NamespaceFilter&, const NamespaceFilter&) = default;
};

/// By value or by PriorityClass name; exactly one is set.
struct PriorityThreshold {
  std::optional<std::int32_t> value;
  std::string name;
  friend bool operator==(const PriorityThreshold&, const PriorityThreshold&) = default;
};

enum class PodProtection {
  // on by default
  kPodsWithLocalStorage,
  kSystemCriticalPods,
  kFailedBarePods,
  kDaemonSetPods,
  // off by default
  kPodsWithPVC,
  kPodsWithoutPDB,
  kPodsWithResourceClaims,
};
std::string_view to_string(PodProtection protection);
std::optional<PodProtection> parse_pod_protection(std::string_view text);

struct PodProtections {
  std::vector<PodProtection> default_disabled;
  std::vector<PodProtection> extra_enabled;
  std::vector<std::string> protected_storage_classes;  ///< config.PodsWithPVC.protectedStorageClasses[].name
  /// config.PodsWithLocalStorage.ignoredVolumes: names in a pod's spec.volumes. Such volumes do not protect the pod.
  std::vector<std::string> ignored_volumes{};
  friend bool operator==(const PodProtections&, const PodProtections&) = default;
};

enum class NoEvictionPolicy { kPreferred, kMandatory };
std::string_view to_string(NoEvictionPolicy policy);

/// What nodeFit checks: the checks of upstream's descheduler, or all filters of the scheduler.
enum class NodeFitLevel { kBasic, kScheduler };
std::string_view to_string(NodeFitLevel level);

/// Whose decision rules a policy follows. docs/compatibility.md lists the differences.
enum class Compatibility {
  kNone,      ///< Evacuator's rules: upstream's with known bugs fixed
  kUpstream,  ///< upstream's rules, bugs included
};
std::string_view to_string(Compatibility compatibility);

/// How kube-scheduler scores free capacity: scoringStrategy.type in the arguments of its plugin NodeResourcesFit.
enum class ScoringStrategyType {
  kLeastAllocated,  ///< spreads: prefers the emptier node
  kMostAllocated,   ///< packs
};
std::string_view to_string(ScoringStrategyType type);

/// Settings of the cluster's scheduler that plans assume.
struct AssumedScheduler {
  /// Scoring strategy; nullopt = kMostAllocated with HighNodeUtilization, otherwise kLeastAllocated.
  std::optional<ScoringStrategyType> scoring;
  std::optional<int> minor_version{};  ///< minor version of Kubernetes 1; nullopt = the server's (Auto)
  friend bool operator==(const AssumedScheduler&, const AssumedScheduler&) = default;
};

/// Annotation with which a pod asks to stay for a limited time.
struct OptOut {
  std::string annotation;
  base::Duration max_duration{};  ///< maximum duration, from the creation of the pod
  friend bool operator==(const OptOut&, const OptOut&) = default;
};

/// How to treat annotations of pods and nodes that forbid disruption by cluster-autoscaler and Karpenter.
enum class AutoscalerAnnotations {
  kRespect,  ///< pods with them stay, and nodes with them are not emptied
  kIgnore,
};
std::string_view to_string(AutoscalerAnnotations annotations);

/// Which pods may be moved: the settings of upstream's DefaultEvictor, with upstream's names.
struct Evictability {
  bool node_fit = false;
  std::optional<NodeFitLevel> node_fit_level;  ///< nullopt = kScheduler, or kBasic with Compatibility::kUpstream
  std::optional<LabelSelector> node_selector;  ///< candidate nodes of node_fit
  std::uint32_t min_replicas = 0;              ///< in effect when > 1
  std::optional<base::Duration> min_pod_age;   ///< since status.startTime
  std::optional<PriorityThreshold> priority_threshold;
  std::optional<LabelSelector> label_selector;
  std::optional<LabelSelector> namespace_label_selector;
  NamespaceFilter namespaces;
  PodProtections pod_protections;
  NoEvictionPolicy no_eviction_policy = NoEvictionPolicy::kPreferred;
  std::vector<OptOut> opt_outs;
  /// Annotations of autoscalers; nullopt = kRespect, or kIgnore with Compatibility::kUpstream.
  std::optional<AutoscalerAnnotations> autoscaler_annotations{};
  friend bool operator==(const Evictability&, const Evictability&) = default;
};

/// One entry of spec.strategies. strategies::parse_strategies() parses the raw args strictly.
struct StrategyChoice {
  std::string name;
  std::string args_json;  ///< compact JSON object text; "{}" when left out
  friend bool operator==(const StrategyChoice&, const StrategyChoice&) = default;
};

/// Template of the Evacuations that the policy creates.
struct EvacuationTemplate {
  std::vector<EvictorChoice> evictors;
  EvacuationTimeouts timeouts;
  EvacuationRetry retry;
  OnTimeout on_timeout = OnTimeout::kCancel;
  HoldSlotUntil hold_slot_until = HoldSlotUntil::kPodGone;
  std::optional<std::int64_t> grace_period_seconds;
  bool require_replacement = false;
  std::optional<base::seconds> ttl_after_finished;
  std::int32_t priority = 0;
  EvacuationHooks hooks;  ///< only in this template; an Evacuation has no hooks
  friend bool operator==(const EvacuationTemplate&, const EvacuationTemplate&) = default;
};

/// Stops a policy when workloads repeatedly get no Ready replacement after an evacuation.
struct CircuitBreaker {
  std::int32_t failures = 5;  ///< consecutive failed verifications that open the circuit; 0 = never
  friend bool operator==(const CircuitBreaker&, const CircuitBreaker&) = default;
};

/// Data that the status keeps for `explain`.
struct ExplainSettings {
  std::int32_t cycles = 10;  ///< number of past cycles in status.history, 0 to 50
  friend bool operator==(const ExplainSettings&, const ExplainSettings&) = default;
};

struct DeschedulerPolicySpec {
  PolicyMode mode = PolicyMode::kDryRun;
  bool suspend = false;
  PolicySchedule schedule;
  std::optional<LabelSelector> node_selector;
  Compatibility compatibility = Compatibility::kNone;
  AssumedScheduler scheduler;
  Evictability evictability;
  std::vector<StrategyChoice> strategies;
  PolicyLimits limits;
  EvacuationTemplate evacuation;
  CircuitBreaker circuit_breaker;
  ExplainSettings explain;
  std::vector<UsageSource> usage_sources;
  std::vector<PolicyGate> gates;
  ConvergenceSettings convergence;
  friend bool operator==(const DeschedulerPolicySpec&, const DeschedulerPolicySpec&) = default;
};

struct ReasonCount {
  std::string reason;
  std::int32_t count = 0;
  friend bool operator==(const ReasonCount&, const ReasonCount&) = default;
};

struct LastCycle {
  std::string id;
  base::TimePoint start{};
  base::milliseconds duration{};
  std::int32_t nodes = 0;
  std::int32_t pods = 0;
  std::int32_t nominated = 0;
  std::int32_t created = 0;
  std::int32_t waves = 0;  ///< number of waves in the plan, of which the first was created; 0 = the plan has no waves
  std::vector<ReasonCount> refused;  ///< sorted by reason
  /// Number of nodes that the whole plan empties; nullopt if no strategy empties nodes.
  std::optional<std::int32_t> nodes_freed{};
  std::optional<std::int32_t> nodes_bound{};  ///< upper bound of nodes_freed for any plan
  bool placement_hints = false;  ///< planned with placement hints, because the placement webhook was active
  friend bool operator==(const LastCycle&, const LastCycle&) = default;
};

/// One row of status.plan: a planned or requested move. At most kMaxPublishedPlan rows are published.
struct PlannedMove {
  std::string ns;
  std::string pod;
  std::string uid;
  std::string from;  ///< source node
  std::string to;    ///< predicted node, "" if unknown
  std::string strategy;
  std::string reason;
  std::optional<double> score{};  ///< balance strategies: benefit relative to disruption, 0 … 100
  /// Moves of one wave run concurrently; the capacity that they free is available to the next wave. 0 = no waves.
  std::int32_t wave = 0;
  std::string hint{};  ///< policy of the placement hint in its Evacuation: "Preferred"; "" if none
  friend bool operator==(const PlannedMove&, const PlannedMove&) = default;
};

/// A pod that a strategy wanted to move but that stays.
struct RefusedPod {
  std::string ns;
  std::string pod;
  std::string uid;
  std::string node;
  std::string strategy;
  std::string reason;                       ///< CamelCase name of the rule
  std::string message;                      ///< with numbers
  std::string subject{};                    ///< budget, taint, label… that the rule is about; "" for the pod itself
  std::optional<std::int64_t> wanted{};     ///< required amount, in the unit of `message`
  std::optional<std::int64_t> available{};  ///< available amount
  friend bool operator==(const RefusedPod&, const RefusedPod&) = default;
};

/// One row of status.history.cycles.
struct PastCycle {
  std::int64_t number = 0;  ///< sequence number
  base::TimePoint start{};
  std::int32_t nominated = 0;
  std::int32_t created = 0;
  std::vector<ReasonCount> refused;  ///< sorted by reason
  std::int32_t left_out = 0;         ///< number of nominations and refusals without a row in `decisions`
  friend bool operator==(const PastCycle&, const PastCycle&) = default;
};

/// Decision about a pod. Cycles with an equal decision share a row.
struct PastDecision {
  std::string ns;
  std::string pod;
  std::string uid;
  bool nominated = false;  ///< false if refused
  std::string node;        ///< node of the pod
  std::string to;          ///< nominated: predicted node, "" if unknown
  std::string strategy;
  std::string reason;   ///< refused: name of the rule
  std::string message;  ///< with numbers
  std::string subject;
  std::optional<std::int64_t> wanted;
  std::optional<std::int64_t> available;
  std::vector<std::int64_t> cycles;  ///< cycle numbers, ascending
  friend bool operator==(const PastDecision&, const PastDecision&) = default;
};

struct PolicyHistory {
  std::vector<PastCycle> cycles;        ///< oldest first
  std::vector<PastDecision> decisions;  ///< newest cycle first, at most kMaxPastDecisions
  friend bool operator==(const PolicyHistory&, const PolicyHistory&) = default;
};
inline constexpr std::int32_t kMaxPastCycles = 50;
inline constexpr std::size_t kMaxPastDecisions = 300;

/// Observed restart count of a container. Criteria with a time window need past counts after a change of leader.
struct RestartObservation {
  base::TimePoint time{};  ///< whole seconds
  std::int32_t total = 0;
  friend bool operator==(const RestartObservation&, const RestartObservation&) = default;
};
struct RestartRecord {
  std::string uid;  ///< of the pod
  std::string container;
  std::vector<RestartObservation> looks;  ///< oldest first, at most kMaxRestartLooks
  friend bool operator==(const RestartRecord&, const RestartRecord&) = default;
};
inline constexpr std::size_t kMaxRestartLooks = 12;
/// Maximum number of rows in status.restarts.
inline constexpr std::size_t kMaxRestartRecords = 200;

/// Recent evacuations of a subject, kept because Evacuations are deleted after their TTL.
struct CooldownRecord {
  std::string subject;                 ///< "vm/<ns>/<name>", "pod/<ns>/<name>", "workload/<ns>/<group>"
  std::vector<base::TimePoint> times;  ///< oldest first, whole seconds, at most kMaxCooldownTimes
  friend bool operator==(const CooldownRecord&, const CooldownRecord&) = default;
};
inline constexpr std::size_t kMaxCooldownTimes = 8;
/// Maximum number of rows in status.cooldowns.
inline constexpr std::size_t kMaxCooldowns = 500;

struct PolicyCircuit {
  std::int32_t failures = 0;                     ///< consecutive failed verifications
  std::string last_failure;                      ///< "<namespace>/<name>" of the Evacuation
  std::string reset;                             ///< last processed value of the reset annotation
  std::optional<base::TimePoint> counted_until;  ///< Evacuations that finished until then are counted in `failures`
  std::optional<base::TimePoint> opened_at;      ///< nullopt = closed
  friend bool operator==(const PolicyCircuit&, const PolicyCircuit&) = default;
};

struct DeschedulerPolicyStatus {
  std::int64_t observed_generation = 0;
  std::vector<Condition> conditions;  ///< Ready, Converged, Degraded, Suspended
  std::optional<LastCycle> last_cycle;
  std::optional<base::TimePoint> next_cycle_time;
  std::int32_t active = 0;   ///< number of unfinished Evacuations of this policy
  std::int64_t evicted = 0;  ///< total number of pods moved by this policy
  /// Part of `evicted` that finished until evicted_until; those Evacuations may be deleted.
  std::int64_t evicted_counted = 0;
  std::optional<base::TimePoint> evicted_until;
  PolicyCircuit circuit;
  std::vector<PlannedMove> plan;
  bool plan_truncated = false;
  std::vector<RefusedPod> refusals;       ///< of the last cycle, the first kMaxPublishedRefusals; last_cycle counts all
  std::vector<CooldownRecord> cooldowns;  ///< sorted by subject
  std::vector<RestartRecord> restarts;    ///< sorted by pod and container
  PolicyHistory history;                  ///< of the last spec.explain.cycles cycles
  std::vector<BalanceRow> balance;        ///< sorted by strategy and resource
  std::optional<StrategyState> strategy_state;  ///< status.rounds
  std::vector<NodeClasses> node_classes;  ///< of the last cycle's utilization strategies, in the order of the spec
  friend bool operator==(const DeschedulerPolicyStatus&, const DeschedulerPolicyStatus&) = default;
};

struct DeschedulerPolicy {
  ObjectMeta meta;
  DeschedulerPolicySpec spec;
  DeschedulerPolicyStatus status;
  /// Why the stored spec does not decode, empty if it does; `spec` then contains the parts that decode.
  std::string spec_problem;
  friend bool operator==(const DeschedulerPolicy&, const DeschedulerPolicy&) = default;
};

/// Decodes a stored policy. Reports a spec that does not decode in spec_problem, so that callers can continue with the
/// rest. Fails only if `json` is not an object.
base::Result<DeschedulerPolicy> decode_stored_descheduler_policy(const Json& json);

/// Decodes spec strictly. Reports all problems together, each with its path. validate() checks bounds.
base::Result<DeschedulerPolicy> decode_descheduler_policy(std::string_view json);
base::Result<DeschedulerPolicy> decode_descheduler_policy(const Json& json);
inline base::Result<DeschedulerPolicy> decode_descheduler_policy(const std::string& json) {
  return decode_descheduler_policy(std::string_view(json));
}
inline base::Result<DeschedulerPolicy> decode_descheduler_policy(const char* json) {
  return decode_descheduler_policy(std::string_view(json));
}
Json encode_spec(const DeschedulerPolicySpec& spec);
Json encode_status(const DeschedulerPolicyStatus& status);
Json encode_refused_pod(const RefusedPod& refused);
Json encode_descheduler_policy(const DeschedulerPolicy& policy);

/// Checks all rules of the CRD's schema and CEL rules, and those that they cannot express. Does not check the
/// strategies' args (strategies::validate()). Returns an empty list if valid.
FieldErrors validate(const DeschedulerPolicySpec& spec, const std::vector<std::string_view>& known_evictors);
/// Checks a whole object: returns all errors of decoding and validate(), empty if valid.
FieldErrors check_descheduler_policy(const Json& object, const std::vector<std::string_view>& known_evictors);

/// Maximum numbers of published rows in status.plan and status.refusals.
inline constexpr std::size_t kMaxPublishedPlan = 100;
inline constexpr std::size_t kMaxPublishedRefusals = 100;

}  // namespace api
