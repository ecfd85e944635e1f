/// Evaluates one strategy on one cluster with upstream's evictor: evictions count against the limits and do not change
/// the cluster.

#include <algorithm>
#include <map>
#include <set>

#include "planner/plan/cycle_limits.hpp"
#include "planner/scheduling/evictability_rules.hpp"
#include "planner/strategies/catalog.hpp"
#include "test/conformance/conformance_case.hpp"

namespace conformance {
namespace {

using scheduling::PodIndex;
using strategies::NominationResult;

std::string name_of(const api::Pod& pod) { return pod.meta.ns + "/" + pod.meta.name; }

class CountingSink final : public strategies::NominationSink {
 public:
  CountingSink(const scheduling::ClusterSnapshot& cluster, const api::PerCycleLimits& limits)
      : cluster_(cluster), limits_(limits) {}

  NominationResult offer(PodIndex pod, std::string_view) override {
    const auto node = cluster_.node_of(pod);
    const auto ns = cluster_.namespace_of(pod);
    if (const auto hit = limits_.hit(node, ns)) return hit->result;
    limits_.count(node, ns);
    evicted_.push_back(name_of(cluster_.pod(pod)));
    ++per_node_[cluster_.pod(pod).node_name.value];
    return NominationResult::kAccepted;
  }
  void refused(PodIndex, const scheduling::Refusal&) override {}

  std::vector<std::string> evicted() const {
    std::vector<std::string> sorted = evicted_;
    std::ranges::sort(sorted);
    return sorted;
  }
  const std::map<std::string, std::int64_t>& per_node() const { return per_node_; }

 private:
  const scheduling::ClusterSnapshot& cluster_;
  planner::CycleLimits limits_;
  std::vector<std::string> evicted_;
  std::map<std::string, std::int64_t> per_node_;
};

std::string listed(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const std::string& name : names) text += (text.size() > 1 ? " " : "") + name;
  return text + "]";
}

std::vector<std::string> sorted_strings(const Json& list) {
  auto strings = list.get<std::vector<std::string>>();
  std::ranges::sort(strings);
  return strings;
}

std::vector<std::string> expected_names(const Json& expect) {
  std::vector<std::string> names;
  for (const Json& ref : expect.at("evictedPodRefs")) {
    names.push_back(ref.at("namespace").get<std::string>() + "/" + ref.at("name").get<std::string>());
  }
  std::ranges::sort(names);
  return names;
}

Judgement compare_count(const Json& expect, std::int64_t count) {
  const bool ranged = expect.contains("evictedCountMin");
  const std::int64_t least = expect.at(ranged ? "evictedCountMin" : "evictedCount").get<std::int64_t>();
  const std::int64_t most = expect.at(ranged ? "evictedCountMax" : "evictedCount").get<std::int64_t>();
  if (count >= least && count <= most) return {};
  return failed("evicted " + std::to_string(count) + ", expected " + std::to_string(least) + ".." +
                std::to_string(most));
}

/// Upstream's listing order is random, so some expected outcomes are sets.
Judgement compare_unstable(const Json& expect, const CountingSink& sink) {
  const auto evicted = sink.evicted();
  if (auto count = compare_count(expect, static_cast<std::int64_t>(evicted.size()));
      count.outcome != Outcome::kPassed) {
    count.detail += " " + listed(evicted);
    return count;
  }
  const auto ever = sorted_strings(expect.value("evictedEver", Json::array()));
  const auto always = sorted_strings(expect.value("evictedAlways", Json::array()));
  const std::set<std::string> distinct(evicted.begin(), evicted.end());
  if (!std::ranges::includes(ever, distinct))
    return failed("evicted " + listed(evicted) + ", upstream ever only " + listed(ever));
  if (!std::ranges::includes(distinct, always))
    return failed("evicted " + listed(evicted) + ", upstream always " + listed(always));
  if (expect.contains("evictedPerNode")) {
    const auto per_node = expect.at("evictedPerNode").get<std::map<std::string, std::int64_t>>();
    if (per_node != sink.per_node()) return failed("evictions per node differ: " + Json(sink.per_node()).dump());
  }
  return {};
}

Judgement compare(const Json& expect, const CountingSink& sink) {
  if (!expect.value("evictedPodsStable", true)) {
    // Our listing is by name, so the name-sorted replays are the reference if the case has them.
    return compare_unstable(expect.contains("byName") ? expect.at("byName") : expect, sink);
  }
  const auto expected = expected_names(expect);
  if (expected == sink.evicted()) return {};
  return failed("evicted " + listed(sink.evicted()) + ", expected " + listed(expected));
}

/// Upstream's defaults did not apply to the captured runs. Ours always apply, so the relevant ones are disabled by
/// name.
Json args_of(const Case& each) {
  Json args = without_nulls(each.json.at("args"));
  if (each.plugin == "RemoveFailedPods" && !args.contains("minPodLifetimeSeconds")) args["minPodLifetimeSeconds"] = 0;
  if (each.plugin == "PodLifeTime") args["terminalPods"]["evict"] = true;  // upstream needs no opt-in
  return args;
}

}  // namespace

Judgement judge_strategy(const Case& each) {
  const Json args = args_of(each);
  const strategies::StrategySpecs parsed = strategies::parse_strategies({{each.plugin, args.dump()}});
  if (parsed.runnable.empty()) return failed("args refused: " + parsed.errors.front().to_string());

  const auto cluster = snapshot_of(each);
  const auto nodes = nodes_in_order(each, *cluster);
  api::FieldErrors errors;
  const api::Evictability spec = evictability_of(each.json.value("evictor", Json::object()), errors);
  const scheduling::EvictabilityRules evictability(spec, *cluster, each.now(), errors, api::Compatibility::kUpstream);
  const bool wants_error = each.expect().contains("error");
  if (!errors.empty()) return wants_error ? Judgement{} : failed(errors.front().to_string());
  const scheduling::WhatIf what_if(*cluster);
  CountingSink sink(*cluster, limits_of(each));
  const auto usage = usage_of(each);
  const base::Status done = parsed.runnable.front().strategy->nominate(
      {what_if, nodes, evictability, each.now(), nullptr, nullptr, usage}, sink);
  if (!done && !wants_error) return failed(done.error().message);
  if (done && wants_error) return failed("no error, expected \"" + each.expect().at("error").get<std::string>() + "\"");
  return compare(each.expect(), sink);
}

}  // namespace conformance
