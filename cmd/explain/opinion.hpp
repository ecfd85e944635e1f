#pragma once

/// Explains where a pod is: which Evacuations moved it or are moving it, and how every policy evaluates it now. Pure.

#include <optional>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "cmd/explain/admission.hpp"
#include "cmd/explain/cycles.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace cmd::plugin {

/// Verdict of one policy about the pod, evaluated on the current cluster.
enum class PolicyVerdict {
  kNominates,     ///< a strategy nominates the pod and no rule or limit refuses it
  kRefused,       ///< a strategy nominates the pod, but a rule or limit refuses it
  kProtected,     ///< no strategy nominates the pod, and a rule would refuse it
  kNotNominated,  ///< the pod may be evicted, but no strategy nominates it
  kOutOfScope,    ///< the pod's node is not in scope
  kNotEvaluated,  ///< the policy could not be evaluated
};
std::string_view to_string(PolicyVerdict verdict);

struct PolicyOpinion {
  std::string policy;
  api::PolicyMode mode = api::PolicyMode::kDryRun;
  bool suspended = false;
  PolicyVerdict verdict = PolicyVerdict::kNotNominated;
  std::string strategy{};  ///< strategy that nominates the pod, empty if none
  std::string rule{};      ///< CamelCase reason of the refusal
  std::string message{};
  std::string target{};       ///< predicted node of a nomination, empty if the pod fits nowhere
  bool in_published = false;  ///< the pod is in the policy's status.plan
  std::optional<base::TimePoint> last_cycle{};
  std::optional<AdmissionFact> admission{};  ///< predicted admission of a nomination
  friend bool operator==(const PolicyOpinion&, const PolicyOpinion&) = default;
};

/// Evaluates the policy on the snapshot. Takes unfinished and recently finished Evacuations into account like the
/// operator. `server_minor` has the meaning of planner::PlanInput.
PolicyOpinion opinion_of(const api::DeschedulerPolicy& policy, const scheduling::ClusterSnapshot& cluster,
                         const std::vector<api::Evacuation>& evacuations, scheduling::PodIndex pod, base::TimePoint now,
                         std::optional<int> server_minor = {});

struct BudgetFact {
  std::string name;
  std::int32_t allowed = 0;
  std::int32_t healthy = 0;
  std::int32_t desired = 0;
  std::int32_t expected = 0;
  bool never = false;  ///< can never allow a disruption because it requires all expected pods to be healthy
  friend bool operator==(const BudgetFact&, const BudgetFact&) = default;
};
/// Returns the budgets that cover the pod. `pods` are the known pods of the cluster.
std::vector<BudgetFact> budgets_of(const api::Pod& pod, const std::vector<api::PodDisruptionBudget>& budgets,
                                   const scheduling::SnapshotInput::List<api::Pod>& pods = {});

struct PastDecision {
  base::TimePoint time{};
  std::string policy;    ///< empty if no policy was involved
  std::string action;    ///< PodNominated, PodRefused, PhaseChanged…
  std::string decision;  ///< Planned, Refused…
  std::string reason;    ///< strategy or rule
  std::string strategy;
  std::string cycle;  ///< ID of the planning cycle, if the decision belongs to one
  std::string message;
  friend bool operator==(const PastDecision&, const PastDecision&) = default;
};

/// Input of render() and as_json(): all known facts about one pod.
struct Explanation {
  api::ObjectKey key;
  std::optional<api::Pod> pod;          ///< nullopt if no pod has that name (anymore)
  std::vector<api::Evacuation> of_pod;  ///< Evacuations of this pod or of an earlier pod with its name, newest first
  std::vector<api::Evacuation> created_by;  ///< Evacuations whose replacement this pod is
  std::vector<BudgetFact> budgets;
  std::vector<PolicyOpinion> policies;
  std::vector<CycleVerdict> cycles{};     ///< decisions of the policies' last cycles
  std::vector<PastDecision> past{};       ///< oldest first
  std::optional<AdmissionFact> manual{};  ///< predicted admission of a manual Evacuation created now
  std::vector<std::string> problems;      ///< human-readable descriptions of data that could not be read
  std::optional<base::TimePoint> now{};   ///< time of the dump; nullopt for a live cluster
  std::string now_source{};               ///< origin of `now`
};

/// Evaluates the policies on the cluster and adds their opinions. No-op if the pod is not in the cluster.
void evaluate_policies(Explanation& explanation, scheduling::SnapshotInput cluster,
                       const std::vector<api::DeschedulerPolicy>& policies,
                       const std::vector<api::Evacuation>& evacuations, base::TimePoint now,
                       std::optional<int> server_minor = {});

/// Assigns the Evacuations that concern the pod to `of_pod` and `created_by`.
void assign_evacuations(Explanation& explanation, const std::vector<api::Evacuation>& evacuations);

std::string conclusion(const Explanation& explanation);

std::string render(const Explanation& explanation, base::TimePoint now, bool colour);
api::Json as_json(const Explanation& explanation);

}  // namespace cmd::plugin
