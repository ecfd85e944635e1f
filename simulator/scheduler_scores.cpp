#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "simulator/scheduler.hpp"

namespace simulator {
namespace {

using scheduling::FitQuery;
using scheduling::NodeIndex;
using scheduling::PodIndex;
using scheduling::Topology;

// What a container without requests counts for in the score, as in kube-scheduler: else such pods would all meet on one
// node.
constexpr std::int64_t kSupposedCpu = 100;
constexpr std::int64_t kSupposedMemory = 200LL * 1024 * 1024 * 1000;
// kube-scheduler's default weights of the preferences beside LeastAllocated's 1.
constexpr double kPreferenceWeight = 2;
constexpr double kTaintWeight = 3;

double free_share(const FitQuery& query, NodeIndex node, scheduling::ResourceIndex resource, std::int64_t supposed) {
  const std::int64_t capacity = query.base().allocatable().get(node, resource);
  if (capacity <= 0) return 0;
  const std::int64_t asked = std::max(scheduling::amount_of(query.base().requests(query.index()), resource), supposed);
  const std::int64_t used = scheduling::saturating_add(query.cluster().used().get(node, resource), asked);
  if (used >= capacity) return 0;
  return 100.0 * static_cast<double>(capacity - used) / static_cast<double>(capacity);
}

/// Scales to 0 … 100 between the worst and the best candidate; nothing when all are alike.
void add_normalised(std::vector<double>& scores, const std::vector<double>& raw, double weight) {
  const auto [least, most] = std::ranges::minmax_element(raw);
  if (raw.empty() || *most <= *least) return;
  for (std::size_t i = 0; i < raw.size(); ++i) scores[i] += weight * 100.0 * (raw[i] - *least) / (*most - *least);
}

/// Adds `weight` to every domain of the term's topology for each pod there that the term covers.
void weigh_term(const FitQuery& query, const api::PodAffinityTerm& term, double weight,
                const std::vector<NodeIndex>& candidates, std::vector<double>& raw) {
  const Topology& topology = query.cluster().topology(term.topology_key);
  std::vector<double> in_domain(topology.domain_names.size(), 0);
  for (const PodIndex other : query.base().pods()) {
    const NodeIndex node = query.cluster().node_of(other);
    if (node == scheduling::kNoNode || other == query.index() || !query.base().is_active(other)) continue;
    const auto domain = topology.domain_of[node];
    if (domain != Topology::kNone && scheduling::covers(term, query.index(), other, query.base()))
      in_domain[domain] += weight;
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto domain = topology.domain_of[candidates[i]];
    if (domain != Topology::kNone) raw[i] += in_domain[domain];
  }
}

void add_pod_preferences(const FitQuery& query, const std::vector<NodeIndex>& candidates, std::vector<double>& scores) {
  const api::Pod& pod = query.pod();
  std::vector<double> raw(candidates.size(), 0);
  if (pod.affinity) {
    for (const auto& [weight, term] : pod.affinity->preferred_pod_affinity)
      weigh_term(query, term, weight, candidates, raw);
    for (const auto& [weight, term] : pod.affinity->preferred_pod_anti_affinity)
      weigh_term(query, term, -weight, candidates, raw);
  }
  add_normalised(scores, raw, kPreferenceWeight);
  raw.assign(candidates.size(), 0);
  for (const api::TopologySpreadConstraint& constraint : pod.topology_spread) {
    if (!constraint.schedule_anyway) continue;
    weigh_term(query,
               {constraint.label_selector, {pod.meta.ns}, {}, constraint.topology_key, constraint.match_label_keys, {}},
               -1, candidates, raw);
  }
  add_normalised(scores, raw, kPreferenceWeight);
}

void add_node_preferences(const FitQuery& query, const std::vector<NodeIndex>& candidates,
                          std::vector<double>& scores) {
  const api::Pod& pod = query.pod();
  std::vector<double> liked(candidates.size(), 0);
  std::vector<double> untainted(candidates.size(), 0);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const api::Node& node = query.base().node(candidates[i]);
    if (pod.affinity) {
      for (const auto& [weight, term] : pod.affinity->preferred_node_terms)
        liked[i] += scheduling::matches(term, node) ? weight : 0;
    }
    if (scheduling::first_untolerated(pod.tolerations, node.taints, {api::TaintEffect::kPreferNoSchedule}) == nullptr)
      untainted[i] = 1;
  }
  add_normalised(scores, liked, kPreferenceWeight);
  add_normalised(scores, untainted, kTaintWeight);
}

/// kube-scheduler's words for a refusal.
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

std::vector<double> scheduler_scores(const FitQuery& query, const std::vector<NodeIndex>& candidates) {
  std::vector<double> scores(candidates.size(), 0);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double cpu = free_share(query, candidates[i], scheduling::kCpuIndex, kSupposedCpu);
    const double memory = free_share(query, candidates[i], scheduling::kMemoryIndex, kSupposedMemory);
    scores[i] = static_cast<double>(static_cast<int>((cpu + memory) / 2));  // whole points, as kube-scheduler counts
  }
  add_pod_preferences(query, candidates, scores);
  add_node_preferences(query, candidates, scores);
  return scores;
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
