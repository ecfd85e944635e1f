#pragma once

/// The DeschedulerPolicy kind (evacuator.dev/v1alpha1, cluster-scoped): what a good placement is.
/// Shape and meaning: docs/concepts/policy.md. Evictability and strategies: upstream-semantics.md.

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
#include "api/policy/rounds.hpp"
#include "api/policy/schedule.hpp"
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

/// By value or by PriorityClass name; exactly one.
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
  /// config.PodsWithLocalStorage.ignoredVolumes: names in spec.volumes of pods that protect no pod.
  std::vector<std::string> ignored_volumes{};
  friend bool operator==(const PodProtections&, const PodProtections&) = default;
};

enum class NoEvictionPolicy { kPreferred, kMandatory };
std::string_view to_string(NoEvictionPolicy policy);

/// How much nodeFit asks of a node: what upstream's descheduler does, or all that the scheduler's filters do.
enum class NodeFitLevel { kBasic, kScheduler };
std::string_view to_string(NodeFitLevel level);

/// Whose decisions a policy makes. docs/compatibility.md lists the differences.
enum class Compatibility {
  kNone,      ///< ours: upstream's rules with its known faults fixed
  kUpstream,  ///< upstream's, faults included
};
std::string_view to_string(Compatibility compatibility);

/// How kube-scheduler scores free capacity: scoringStrategy.type in the arguments of its plugin NodeResourcesFit.
enum class ScoringStrategyType {
  kLeastAllocated,  ///< spreads: the emptier node is the better one
  kMostAllocated,   ///< packs
};
std::string_view to_string(ScoringStrategyType type);

/// What the policy's plans assume of the cluster's scheduler.
struct AssumedScheduler {
  std::optional<ScoringStrategyType>
      scoring;                         ///< absent: kMostAllocated with HighNodeUtilization, else kLeastAllocated
  std::optional<int> minor_version{};  ///< of Kubernetes 1; absent: the server's (Auto)
  friend bool operator==(const AssumedScheduler&, const AssumedScheduler&) = default;
};

/// An annotation by which a pod asks to stay for a while.
struct OptOut {
  std::string annotation;
  base::Duration max_duration{};  ///< longest that it counts, from the pod's creation
  friend bool operator==(const OptOut&, const OptOut&) = default;
};

/// What is made of the annotations by which pods and nodes ask cluster-autoscaler and Karpenter to leave them alone.
enum class AutoscalerAnnotations {
  kRespect,  ///< such pods stay, and such nodes are not emptied
  kIgnore,
};
std::string_view to_string(AutoscalerAnnotations annotations);

/// Which pods may be moved at all: upstream's DefaultEvictor in upstream's words.
struct Evictability {
  bool node_fit = false;
  std::optional<NodeFitLevel> node_fit_level;  ///< absent: kScheduler, with Compatibility::kUpstream kBasic
  std::optional<LabelSelector> node_selector;  ///< candidate nodes of node_fit
  std::uint32_t min_replicas = 0;              ///< active when > 1
  std::optional<base::Duration> min_pod_age;   ///< against status.startTime
  std::optional<PriorityThreshold> priority_threshold;
  std::optional<LabelSelector> label_selector;
  std::optional<LabelSelector> namespace_label_selector;
  NamespaceFilter namespaces;
  PodProtections pod_protections;
  NoEvictionPolicy no_eviction_policy = NoEvictionPolicy::kPreferred;
  std::vector<OptOut> opt_outs;
  std::optional<AutoscalerAnnotations>
      autoscaler_annotations{};  ///< absent: kRespect, with Compatibility::kUpstream kIgnore
  friend bool operator==(const Evictability&, const Evictability&) = default;
};

/// One entry of spec.strategies. Args stay raw here; strategies::parse_strategies() parses them strictly.
struct StrategyChoice {
  std::string name;
  std::string args_json;  ///< compact JSON object text; "{}" when left out
  friend bool operator==(const StrategyChoice&, const StrategyChoice&) = default;
};

/// Template of the Evacuations that the policy makes.
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
  EvacuationHooks hooks;  ///< of this template only: an Evacuation has none of its own
  friend bool operator==(const EvacuationTemplate&, const EvacuationTemplate&) = default;
};

/// Stops a policy whose evacuations keep leaving workloads without a Ready replacement.
struct CircuitBreaker {
  std::int32_t failures = 5;  ///< failed verifications in a row that open it; 0: never
  friend bool operator==(const CircuitBreaker&, const CircuitBreaker&) = default;
};

/// What the status remembers for `explain`.
struct ExplainSettings {
  std::int32_t cycles = 10;  ///< past cycles in status.history, 0 to 50
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
  std::int32_t waves = 0;                     ///< of the plan, of which the first was made; 0: it has none
  std::vector<ReasonCount> refused;           ///< sorted by reason
  std::optional<std::int32_t> nodes_freed{};  ///< that the whole plan empties; absent: no strategy empties nodes
  std::optional<std::int32_t> nodes_bound{};  ///< no plan could free more
  bool placement_hints = false;               ///< it was planned with them: the placement webhook was in force
  friend bool operator==(const LastCycle&, const LastCycle&) = default;
};

/// One row of status.plan: a move that would be or was asked for. At most 100 rows are published.
struct PlannedMove {
  std::string ns;
  std::string pod;
  std::string uid;
  std::string from;  ///< source node
  std::string to;    ///< predicted node, "" when unknown
  std::string strategy;
  std::string reason;
  std::optional<double> score{};  ///< benefit for disruption, 0 … 100, of a balance strategy's move
  /// Moves of one wave run together, and what they leave is free only for the next wave; 0: the strategy plans none.
  std::int32_t wave = 0;
  std::string hint{};  ///< policy of the placement hint that its Evacuation carries: "Preferred"; "": none
  friend bool operator==(const PlannedMove&, const PlannedMove&) = default;
};

/// A pod that a strategy wanted to move, and why it stays.
struct RefusedPod {
  std::string ns;
  std::string pod;
  std::string uid;
  std::string node;
  std::string strategy;
  std::string reason;                       ///< CamelCase, the rule
  std::string message;                      ///< with the numbers
  std::string subject{};                    ///< the budget, taint, label… that the rule is about; "": the pod itself
  std::optional<std::int64_t> wanted{};     ///< what the rule asks for, in the unit of `message`
  std::optional<std::int64_t> available{};  ///< what there is
  friend bool operator==(const RefusedPod&, const RefusedPod&) = default;
};

/// One of the last cycles, as status.history has it.
struct PastCycle {
  std::int64_t number = 0;  ///< counts up by one
  base::TimePoint start{};
  std::int32_t nominated = 0;
  std::int32_t created = 0;
  std::vector<ReasonCount> refused;  ///< sorted by reason
  std::int32_t left_out = 0;         ///< nominations and refusals that are not among the decisions
  friend bool operator==(const PastCycle&, const PastCycle&) = default;
};

/// What cycles said about a pod. Cycles that said the same share a row.
struct PastDecision {
  std::string ns;
  std::string pod;
  std::string uid;
  bool nominated = false;  ///< else refused
  std::string node;        ///< where it ran
  std::string to;          ///< nominated: the predicted node, "" when unknown
  std::string strategy;
  std::string reason;   ///< refused: the rule
  std::string message;  ///< with the numbers
  std::string subject;
  std::optional<std::int64_t> wanted;
  std::optional<std::int64_t> available;
  std::vector<std::int64_t> cycles;  ///< their numbers, ascending
  friend bool operator==(const PastDecision&, const PastDecision&) = default;
};

struct PolicyHistory {
  std::vector<PastCycle> cycles;        ///< oldest first
  std::vector<PastDecision> decisions;  ///< newest cycle first, at most kMaxPastDecisions
  friend bool operator==(const PolicyHistory&, const PolicyHistory&) = default;
};
inline constexpr std::int32_t kMaxPastCycles = 50;
inline constexpr std::size_t kMaxPastDecisions = 300;

/// How often a container had restarted when somebody looked: what criteria with a time window need across a change of
/// leader.
struct RestartLook {
  base::TimePoint time{};  ///< whole seconds
  std::int32_t total = 0;
  friend bool operator==(const RestartLook&, const RestartLook&) = default;
};
struct RestartRecord {
  std::string uid;  ///< of the pod
  std::string container;
  std::vector<RestartLook> looks;  ///< oldest first, at most kMaxRestartLooks
  friend bool operator==(const RestartRecord&, const RestartRecord&) = default;
};
inline constexpr std::size_t kMaxRestartLooks = 12;
/// Rows of status.restarts.
inline constexpr std::size_t kMaxRestartRecords = 200;

/// When something was evacuated lately, kept because Evacuations are deleted after their time to live.
struct CooldownRecord {
  std::string subject;                 ///< "vm/<ns>/<name>", "pod/<ns>/<name>", "workload/<ns>/<group>"
  std::vector<base::TimePoint> times;  ///< oldest first, whole seconds, at most kMaxCooldownTimes
  friend bool operator==(const CooldownRecord&, const CooldownRecord&) = default;
};
inline constexpr std::size_t kMaxCooldownTimes = 8;
/// Rows of status.cooldowns.
inline constexpr std::size_t kMaxCooldowns = 500;

struct PolicyCircuit {
  std::int32_t failures = 0;                     ///< failed verifications in a row
  std::string last_failure;                      ///< "<namespace>/<name>" of the Evacuation
  std::string reset;                             ///< value of the reset annotation that was obeyed last
  std::optional<base::TimePoint> counted_until;  ///< Evacuations that finished until then are in `failures`
  std::optional<base::TimePoint> opened_at;      ///< absent: closed
  friend bool operator==(const PolicyCircuit&, const PolicyCircuit&) = default;
};

struct DeschedulerPolicyStatus {
  std::int64_t observed_generation = 0;
  std::vector<Condition> conditions;  ///< Ready, Converged, Degraded, Suspended
  std::optional<LastCycle> last_cycle;
  std::optional<base::TimePoint> next_cycle_time;
  std::int32_t active = 0;   ///< unfinished Evacuations of this policy
  std::int64_t evicted = 0;  ///< pods moved under this policy, ever
  std::int64_t evicted_counted =
      0;  ///< of those, the ones that finished until evicted_until: their Evacuations may be gone
  std::optional<base::TimePoint> evicted_until;
  PolicyCircuit circuit;
  std::vector<PlannedMove> plan;
  bool plan_truncated = false;
  std::vector<RefusedPod> refusals;       ///< of the last cycle, the first kMaxPublishedRefusals; last_cycle counts all
  std::vector<CooldownRecord> cooldowns;  ///< sorted by subject
  std::vector<RestartRecord> restarts;    ///< sorted by pod and container
  PolicyHistory history;                  ///< of the last spec.explain.cycles cycles
  std::vector<BalanceRow> balance;        ///< sorted by strategy and resource
  std::optional<RoundsStatus> rounds;     ///< of a strategy that works in rounds
  std::vector<NodeClasses> node_classes;  ///< of the last cycle's utilization strategies, in the order of the spec
  friend bool operator==(const DeschedulerPolicyStatus&, const DeschedulerPolicyStatus&) = default;
};

struct DeschedulerPolicy {
  ObjectMeta meta;
  DeschedulerPolicySpec spec;
  DeschedulerPolicyStatus status;
  std::string spec_problem;  ///< the spec as stored does not decode: why. `spec` then has what of it does
  friend bool operator==(const DeschedulerPolicy&, const DeschedulerPolicy&) = default;
};

/// What a server has stored, for those who must go on with it: a spec that does not decode is told in spec_problem.
/// Fails only on what is no object.
base::Result<DeschedulerPolicy> decode_stored_descheduler_policy(const Json& json);

/// Strict for spec: all problems found are reported together, each with its path. Bounds are validate()'s business.
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

/// Everything the CRD's schema and CEL rules say, plus what they cannot, without the strategies' args
/// (strategies::validate does those); empty = valid.
FieldErrors validate(const DeschedulerPolicySpec& spec, const std::vector<std::string_view>& known_evictors);
/// Every complaint about a whole object at once, decoding's and validate()'s; empty = valid.
FieldErrors check_descheduler_policy(const Json& object, const std::vector<std::string_view>& known_evictors);

/// Rows of status.plan that are published.
inline constexpr std::size_t kMaxPublishedPlan = 100;
inline constexpr std::size_t kMaxPublishedRefusals = 100;

}  // namespace api
