/// Evaluates cases of DefaultEvictor, node fit and the eviction limits, with one pod each.

#include <algorithm>
#include <map>

#include "planner/plan/cycle_limits.hpp"
#include "planner/scheduling/evictability_rules.hpp"
#include "planner/scheduling/predicates.hpp"
#include "test/builders/first_refusal.hpp"
#include "test/conformance/conformance_case.hpp"

namespace conformance {
namespace {

using scheduling::FitLevel;
using scheduling::Refusal;

std::string describe(const std::optional<Refusal>& refusal) {
  return refusal ? std::string(refusal->reason) + ": " + refusal->message() : "no refusal";
}

Judgement compare(bool expected, const std::optional<Refusal>& refusal) {
  if (expected == !refusal) return {};
  return failed(std::string("expected ") + (expected ? "yes" : "no") + ", got " + describe(refusal));
}

std::string upstream_words(const Refusal& refusal) {
  if (refusal.reason == "InsufficientResource") return "insufficient " + std::string(refusal.subject);
  static const std::map<std::string_view, std::string> kWords = {
      {"TooManyPods", "insufficient pods"},
      {"NodeCordoned", "node is not schedulable"},
      {"NodeSelectorMismatch", "pod node selector does not match the node label"},
      {"UntoleratedTaint", "pod does not tolerate taints on the node"},
      {"AntiAffinity", "pod matches inter-pod anti-affinity rule of other pod on node"},
      {"TotalLimit", "maximum number of evicted pods per a descheduling cycle reached"},
      {"NodeLimit", "maximum number of evicted pods per node reached"},
      {"NamespaceLimit", "maximum number of evicted pods per namespace reached"},
  };
  const auto at = kWords.find(refusal.reason);
  return at == kWords.end() ? std::string(refusal.reason) : at->second;
}

Judgement compare_words(const Json& expect, const std::optional<Refusal>& refusal) {
  if (!expect.contains("error") || !refusal || refusal->reason == "MalformedAntiAffinity")
    return {};  // The message is that of a parser
  const std::string got = upstream_words(*refusal);
  if (!expect.value("errorStable", true)) {
    const auto ever = expect.at("errorEver").get<std::vector<std::string>>();
    return std::ranges::find(ever, got) != ever.end() ? Judgement{} : failed("refused for another reason: " + got);
  }
  return expect.at("error") == got ? Judgement{} : failed("refused for another reason: " + got);
}

}  // namespace

Judgement judge_filter(const Case& each) {
  const auto cluster = snapshot_of(each);
  api::FieldErrors errors;
  const api::Evictability spec = evictability_of(each.json.at("args"), errors);
  const scheduling::EvictabilityRules rules(spec, *cluster, each.now(), errors, api::Compatibility::kUpstream);
  if (each.wants_refused_args()) return errors.empty() ? failed("the arguments are not refused") : Judgement{};
  if (!errors.empty()) return failed(errors.front().to_string());
  const scheduling::PodIndex pod = target_of(each, *cluster);
  const scheduling::WhatIf what_if(*cluster);
  const auto refusal = each.kind() == "filter" ? rules.refusal(pod) : rules.refusal_before_eviction(pod, what_if);
  return compare(each.expect().at("result").get<bool>(), refusal);
}

Judgement judge_node_fit(const Case& each) {
  const auto cluster = snapshot_of(each);
  const scheduling::WhatIf what_if(*cluster);
  const scheduling::PodIndex pod = target_of(each, *cluster);
  const bool expected = each.expect().at("result").get<bool>();
  if (each.json.at("function") == "PodFitsAnyOtherNode") {
    const bool fits = find_other_node(what_if, pod, nodes_in_order(each, *cluster), FitLevel::kBasic).has_value();
    return fits == expected ? Judgement{} : failed(fits ? "fits" : "does not fit");
  }
  const auto node = cluster->find_node(each.json.at("targetNode").get<std::string>()).value();
  const auto refusal = first_refusal(what_if, pod, node, FitLevel::kBasic);
  const Judgement judgement = compare(expected, refusal);
  return judgement.outcome == Outcome::kPassed ? compare_words(each.expect(), refusal) : judgement;
}

namespace {

Judgement compare_counter(const Case& each, const char* name, std::int64_t counted) {
  const std::int64_t expected = each.expect().value(name, counted);
  if (counted == expected) return {};
  return failed(std::string(name) + " is " + std::to_string(counted) + ", expected " + std::to_string(expected));
}

}  // namespace

/// Evaluates the limits for one eviction before the API call and the counters afterwards. Neither a refused nor a
/// failed eviction is counted. Events are part of the controllers, and evictors/classify interprets the API's error.
Judgement judge_eviction(const Case& each) {
  const auto cluster = snapshot_of(each);
  const scheduling::PodIndex pod = target_of(each, *cluster);
  const bool has_node = !cluster->pod(pod).node_name.empty();
  // The case has only the name of the node, not its object, so any number represents it.
  const planner::CycleLimits limits(limits_of(each));
  const auto hit = limits.hit(has_node ? 0 : scheduling::kNoNode, cluster->namespace_of(pod));
  const std::string got = hit ? upstream_words(hit->refusal) : each.json.value("apiError", "");
  const std::string expected = each.expect().value("error", "");
  if (got != expected) return failed("expected \"" + expected + "\", got \"" + got + "\"");
  const std::int64_t evicted = got.empty() ? 1 : 0;
  const Judgement total = compare_counter(each, "evictedCount", evicted);
  return total.outcome == Outcome::kPassed ? compare_counter(each, "nodeEvictions", has_node ? evicted : 0) : total;
}

}  // namespace conformance
