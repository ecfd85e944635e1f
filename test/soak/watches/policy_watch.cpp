#include "test/soak/watches/policy_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/core/codec.hpp"
#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "kube/client.hpp"

namespace soak {
namespace {

using api::Json;
using api::text_at;

/// Maximum time for an Evacuation that was admitted before a gate began to hold to begin.
constexpr base::minutes kUnderWay{2};

bool is_soft_taint(const Json& taint) { return api::well_known::is_soft_taint(text_at(taint, {"key"})); }

/// Returns the node without the operator's taints.
Json without_ours(Json node) {
  if (node.contains("spec") && node["spec"].contains("taints")) {
    Json others = Json::array();
    for (const Json& each : node["spec"]["taints"]) {
      if (!is_soft_taint(each)) others.push_back(each);
    }
    node["spec"].erase("taints");
    if (!others.empty()) node["spec"]["taints"] = std::move(others);
  }
  for (const char* field : {"resourceVersion", "managedFields", "generation"}) node["metadata"].erase(field);
  return node;
}

}  // namespace

Json PolicyWatch::foreign_taint() { return {{"key", "example.com/own"}, {"effect", "PreferNoSchedule"}}; }

void PolicyWatch::before_step(bool is_current) {
  is_current_ = is_current;
  const std::uint64_t revision = server_.store().revision();
  if (std::exchange(looked_at_, revision) == revision) return;
  budgets_.clear();
  for (const auto& object : server_.store().list(kube::kPdbs)) {
    if (auto budget = api::decode_pdb(object->dump())) budgets_.push_back(*std::move(budget));
  }
}

void PolicyWatch::before(const kube::Request& request) {
  call_.reset();
  if (request.method == "GET") return;
  const simulator::RequestInfo info = simulator::read_request(request);
  if (info.verb == "create" && info.plural == kube::kEvacuations.plural)
    check_creation(Json::parse(request.body, nullptr, false));
  for (const auto* type : {&kube::kNodes, &kube::kPolicies}) {
    if (info.plural == type->plural) call_ = {type, info.name, server_.store().get(*type, {"", info.name})};
  }
}

void PolicyWatch::after() {
  if (!call_) return;
  const Call call = *std::exchange(call_, std::nullopt);
  const auto now = server_.store().get(*call.type, {"", call.name});
  if (!call.before || !now) return;
  if (call.type == &kube::kPolicies) return check_plan(call.name, now->value("status", Json::object()));
  if (without_ours(*call.before) == without_ours(*now)) return;
  report_(fmt::format("taints: we changed more than our own of node {}: {} became {}", call.name, call.before->dump(),
                      now->dump()));
}

void PolicyWatch::check_creation(const Json& evacuation) {
  const std::string policy = text_at(evacuation, {"spec", "source", "policy"});
  if (policy.empty() || !held_since_ || !held_since_(policy)) return;
  report_(fmt::format("gates: {} is made for policy {}, whose gate holds", text_at(evacuation, {"metadata", "name"}),
                      policy));
}

void PolicyWatch::check_begun(const api::Evacuation& evacuation) {
  const std::string& policy = evacuation.spec.source.policy;
  // An origin signed by a clock that is far ahead counts as manual, and no gate holds it.
  const bool is_ours = api::origin_is_verified(evacuation);
  if (policy.empty() || !is_ours || !is_current_ || !held_since_) return;
  const auto since = held_since_(policy);
  if (since && server_.store().clock().now() - *since > kUnderWay)
    report_(fmt::format("gates: {} begins, though a gate of policy {} holds since {}", evacuation.meta.name, policy,
                        base::format_time(*since)));
}

/// Runs once per cycle, when its status is written in the step that planned it.
void PolicyWatch::check_plan(const std::string& policy, const Json& status) {
  const std::string id = text_at(status, {"lastCycle", "id"});
  if (id.empty() || std::exchange(cycles_[policy], id) == id) return;
  const auto began = base::parse_time(text_at(status, {"lastCycle", "start"}));
  const base::TimePoint now = server_.store().clock().now();
  if (is_current_ && began && now - *began < base::seconds(1)) check_wave(status);
}

/// Moves of the first wave together stay within what each budget allows.
void PolicyWatch::check_wave(const Json& status) {
  if (api::number_at(status, {"lastCycle", "waves"}).value_or(0) == 0) return;
  ++waves_;
  for (const auto& budget : budgets_) {
    std::int64_t spent = 0;
    for (const Json& move : api::items_at(status, {"plan"})) {
      if (api::number_at(move, {"wave"}).value_or(0) > 1) continue;
      const auto object = server_.store().get(kube::kPods, {text_at(move, {"namespace"}), text_at(move, {"pod"})});
      const auto pod = object ? api::decode_pod(object->dump()) : base::Result<api::Pod>(base::invalid("gone"));
      spent += pod && pod->is_ready() && pod->meta.ns == budget.meta.ns && budget.covers(*pod) ? 1 : 0;
    }
    if (spent > std::max(budget.disruptions_allowed, 0))
      report_(fmt::format("waves: the first one of {} takes {} pods of PodDisruptionBudget {}, which allows {}",
                          text_at(status, {"lastCycle", "id"}), spent, budget.meta.name, budget.disruptions_allowed));
  }
}

void PolicyWatch::check_end() {
  for (const auto& node : server_.store().list(kube::kNodes)) {
    const std::string name = text_at(*node, {"metadata", "name"});
    bool is_foreign_there = false;
    for (const Json& taint : api::items_at(*node, {"spec", "taints"})) {
      if (is_soft_taint(taint)) report_(fmt::format("taints: one is left on node {}: {}", name, taint.dump()));
      is_foreign_there |= taint["key"] == foreign_taint()["key"];
    }
    const auto expected = taints_.find(name);
    if (is_foreign_there != (expected != taints_.end() && expected->second))
      report_(fmt::format("taints: node {} {} a person's taint", name, is_foreign_there ? "has" : "lost"));
  }
}

}  // namespace soak
