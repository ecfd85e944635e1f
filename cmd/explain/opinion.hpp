#pragma once

/// Why a pod is where it is: what moved it, what moves it, what every policy says about it now. Pure.

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

/// What one policy makes of the pod when it is evaluated on the cluster as it is now.
enum class PolicyVerdict {
  kNominates,     ///< a strategy wants it to go, and nothing speaks against it
  kRefused,       ///< a strategy wants it to go; a rule or limit keeps it
  kProtected,     ///< no strategy wants it to go, and a rule would keep it anyway
  kContent,       ///< it may go, but no strategy wants it to
  kNotLookedAt,   ///< its node is not among those that the policy looks at
  kNotEvaluated,  ///< the policy could not be evaluated
};
std::string_view to_string(PolicyVerdict verdict);

struct PolicyOpinion {
  std::string policy;
  api::PolicyMode mode = api::PolicyMode::kDryRun;
  bool suspended = false;
  PolicyVerdict verdict = PolicyVerdict::kContent;
  std::string strategy{};  ///< that nominates it; empty: none
  std::string rule{};      ///< CamelCase reason of the refusal
  std::string message{};
  std::string target{};       ///< predicted node of a nomination; "" = nowhere fits
  bool in_published = false;  ///< stands in the policy's status.plan
  std::optional<base::TimePoint> last_cycle{};
  std::optional<AdmissionFact> admission{};  ///< of a nomination: what it would wait for
  friend bool operator==(const PolicyOpinion&, const PolicyOpinion&) = default;
};

/// Evaluates the policy on the snapshot, with unfinished and recently finished Evacuations taken into account as the
/// operator does. `server_minor`: as in planning::PlanInput.
PolicyOpinion opinion_of(const api::DeschedulerPolicy& policy, const scheduling::ClusterSnapshot& cluster,
                         const std::vector<api::Evacuation>& evacuations, scheduling::PodIndex pod, base::TimePoint now,
                         std::optional<int> server_minor = {});

struct BudgetFact {
  std::string name;
  std::int32_t allowed = 0;
  std::int32_t healthy = 0;
  std::int32_t desired = 0;
  std::int32_t expected = 0;
  bool never = false;  ///< it can never allow a disruption: it wants as many healthy pods as there are
  friend bool operator==(const BudgetFact&, const BudgetFact&) = default;
};
/// The budgets that cover the pod. `pods`: of the cluster, as far as they are known.
std::vector<BudgetFact> budgets_of(const api::Pod& pod, const std::vector<api::PodDisruptionBudget>& budgets,
                                   const scheduling::SnapshotInput::List<api::Pod>& pods = {});

/// One decision about the pod that the audit log remembers.
struct PastDecision {
  base::TimePoint time{};
  std::string policy;    ///< empty: none was involved
  std::string action;    ///< PodNominated, PodRefused, PhaseChanged…
  std::string decision;  ///< Planned, Refused…
  std::string reason;    ///< the strategy, or the rule
  std::string strategy;
  std::string cycle;  ///< id, of decisions of a planning cycle
  std::string message;
  friend bool operator==(const PastDecision&, const PastDecision&) = default;
};

/// All that is known about one pod's place.
struct Explanation {
  api::ObjectKey key;
  std::optional<api::Pod> pod;           ///< nullopt: there is none of that name (any more)
  std::vector<api::Evacuation> of_pod;   ///< about this pod or an earlier one of its name, newest first
  std::vector<api::Evacuation> made_it;  ///< those whose replacement this pod is
  std::vector<BudgetFact> budgets;
  std::vector<PolicyOpinion> policies;
  std::vector<CycleVerdict> cycles{};     ///< what the policies' last cycles said
  std::vector<PastDecision> past{};       ///< oldest first
  std::optional<AdmissionFact> manual{};  ///< what an Evacuation that a person makes now would wait for
  std::vector<std::string> problems;      ///< what could not be read
  std::optional<base::TimePoint> now{};   ///< of a dump; absent: the clock's
  std::string now_source{};               ///< where that is from
};

/// Evaluates the policies on the cluster and adds what they say. Nothing when the pod is not in it.
void ask_policies(Explanation& explanation, scheduling::SnapshotInput cluster,
                  const std::vector<api::DeschedulerPolicy>& policies, const std::vector<api::Evacuation>& evacuations,
                  base::TimePoint now, std::optional<int> server_minor = {});

/// Sorts out which Evacuations concern the pod.
void sort_out(Explanation& explanation, const std::vector<api::Evacuation>& evacuations);

/// One sentence: what it all comes to.
std::string conclusion(const Explanation& explanation);

std::string render(const Explanation& explanation, base::TimePoint now, bool colour);
api::Json as_json(const Explanation& explanation);

}  // namespace cmd::plugin
