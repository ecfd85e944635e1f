#pragma once

/// Finds the members of pod groups (docs/concepts/pod-groups.md) that must be evacuated with the pods that the user
/// named. api::pod_group_of() defines membership.

#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "cmd/drain/drain.hpp"
#include "cmd/session/session.hpp"

namespace cmd::plugin {

/// Contents of the namespaces of the chosen pods.
struct PodGroupNamespaces {
  std::vector<api::Pod> pods;
  std::vector<api::Evacuation> evacuations;
};

/// Reads the namespaces of chosen pods that leave in groups. Reads nothing if there are no such pods.
base::Result<PodGroupNamespaces> read_pod_group_world(Session& session, const std::vector<api::Pod>& chosen);

/// A pod group of which only some members are chosen or already have an Evacuation.
struct IncompletePodGroup {
  std::string ns;
  std::string name;
  std::vector<api::Pod> chosen;   ///< ordered by name
  std::vector<api::Pod> missing;  ///< in leaving order, then by name
};

/// Returns the incomplete groups of `chosen`, ordered by namespace and name. Skips groups whose Evacuation has begun:
/// an attempt keeps the members it started with and does not wait for replacements. Pure.
std::vector<IncompletePodGroup> incomplete_pod_groups(const std::vector<api::Pod>& chosen,
                                                      const PodGroupNamespaces& world);

/// Compares by UID.
bool is_among(const std::vector<api::Pod>& pods, const api::Pod& pod);

/// Returns a text such as "train-1 (node-b), train-2 (node-c) and 4 more".
std::string members_text(const std::vector<api::Pod>& pods);
/// Returns why the group cannot leave as a whole under any flags, an empty string if it can. Pure.
std::string why_not_evacuable(const IncompletePodGroup& rest);

inline constexpr std::string_view kWholeGroup = "--whole-group";

/// Completes a drain plan. With `whole_groups`, the missing members follow the first member of their group, with its
/// priority and subject to the same rules as the node's pods. Otherwise the group's pods on the node are refused. Pure.
void add_pod_groups(DrainPlan& plan, const PodGroupNamespaces& world, const DrainRules& rules, bool whole_groups);

}  // namespace cmd::plugin
