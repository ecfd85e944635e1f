#pragma once

/// Pods that leave together (docs/concepts/pod-groups.md), as the plugin sees them: who has to be asked beside those
/// that the user named. Who belongs together is api::pod_group_of()'s word.

#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "cmd/drain/drain.hpp"
#include "cmd/session/session.hpp"

namespace cmd::plugin {

/// The namespaces of the pods that were chosen.
struct PodGroupWorld {
  std::vector<api::Pod> pods;
  std::vector<api::Evacuation> evacuations;
};

/// Reads the namespaces of those that leave in groups; nothing when none of them does.
base::Result<PodGroupWorld> read_pod_group_world(Session& session, const std::vector<api::Pod>& chosen);

/// A group of which some are chosen, or asked to leave already, and others are not.
struct PodGroupRest {
  std::string ns;
  std::string name;
  std::vector<api::Pod> chosen;   ///< by name
  std::vector<api::Pod> missing;  ///< in the order in which they leave, then by name
};

/// The incomplete groups of `chosen`, by namespace and name. Not of those whose own Evacuation has begun: an attempt
/// keeps the group that it began with, and replacements are not waited for. Pure.
std::vector<PodGroupRest> rests_of_pod_groups(const std::vector<api::Pod>& chosen, const PodGroupWorld& world);

/// By UID.
bool is_among(const std::vector<api::Pod>& pods, const api::Pod& pod);

/// "train-1 (node-b), train-2 (node-c) and 4 more".
std::string members_text(const std::vector<api::Pod>& pods);
/// Why the group cannot leave as a whole whatever the user says; empty: it can. Pure.
std::string objection_to(const PodGroupRest& rest);

/// The flag that asks for whole groups.
inline constexpr std::string_view kWholeGroup = "--whole-group";

/// Completes a drain: with `whole_groups` the missing members join right behind the first of their group, with its
/// priority and by the same rules as the pods of the node; else the group's pods on the node are refused. Pure.
void add_pod_groups(DrainPlan& plan, const PodGroupWorld& world, const DrainRules& rules, bool whole_groups);

}  // namespace cmd::plugin
