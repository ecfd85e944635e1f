#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "planner/scheduling/scoring/preferences.hpp"
#include "simulator/scheduler/scheduler.hpp"

namespace simulator {
namespace {

using scheduling::FitQuery;
using scheduling::NodeIndex;

/// Returns kube-scheduler's text for a refusal.
std::string words_for(const scheduling::Refusal& refusal) {
  if (refusal.reason == "InsufficientResource") {
    return refusal.subject == "pods" ? "Too many pods" : fmt::format("Insufficient {}", refusal.subject);
  }
  if (refusal.reason == "NodeCordoned") return "node(s) were unschedulable";
  if (refusal.reason == "NodeNotReady") return "node(s) were not ready";
  if (refusal.reason == "NodeSelectorMismatch") return "node(s) didn't match Pod's node affinity/selector";
  if (refusal.reason == "UntoleratedTaint") return fmt::format("node(s) had untolerated taint {{{}}}", refusal.subject);
  if (refusal.reason == "HostPortInUse") return "node(s) didn't have free ports for the requested pod ports";
  if (refusal.reason == "ClaimNotFound") return fmt::format("persistentvolumeclaim \"{}\" not found", refusal.subject);
  if (refusal.reason == "VolumeNodeMismatch") return "node(s) had volume node affinity conflict";
  if (refusal.reason == "AntiAffinity") return "node(s) didn't match pod anti-affinity rules";
  if (refusal.reason == "ExistingAntiAffinity") return "node(s) didn't satisfy existing pods anti-affinity rules";
  if (refusal.reason == "AffinityUnsatisfied") return "node(s) didn't match pod affinity rules";
  if (refusal.reason == "TopologySpread") return "node(s) didn't match pod topology spread constraints";
  return std::string(refusal.reason);
}

}  // namespace

/// Ties go to the node with fewer pods, then to the first by name, which is the order of the indices.
std::optional<NodeIndex> choose_node(const FitQuery& query, scheduling::NodeScoring scoring) {
  const scheduling::ResourceScores scores(scoring);
  std::vector<NodeIndex> candidates;
  std::vector<int> capacity;
  for (const NodeIndex node : query.base().nodes()) {
    if (!query.fits(node)) continue;
    candidates.push_back(node);
    capacity.push_back(scores.score(query.cluster(), query.index(), node));
  }
  if (candidates.empty()) return std::nullopt;
  const auto& pods = query.cluster().used().column(scheduling::kPodsIndex);
  const auto best = scheduling::best_nodes(scheduling::Preferences(query), candidates, capacity);
  return *std::ranges::min_element(best, {}, [&](NodeIndex node) { return pods[node]; });
}

std::string unschedulable_message(const FitQuery& query) {
  std::map<std::string, int> counts;
  for (const NodeIndex node : query.base().nodes()) {
    if (const auto refusal = query.refusal(node)) ++counts[words_for(*refusal)];
  }
  if (query.base().node_count() == 0) return "no nodes available to schedule pods";
  std::vector<std::string> parts;
  for (const auto& [words, count] : counts) parts.push_back(fmt::format("{} {}", count, words));
  std::ranges::sort(parts);
  return fmt::format("0/{} nodes are available: {}.", query.base().node_count(), fmt::join(parts, ", "));
}

}  // namespace simulator
