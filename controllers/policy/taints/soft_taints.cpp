#include "controllers/policy/taints/soft_taints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/meta/label_value.hpp"
#include "api/meta/well_known.hpp"
#include "controllers/policy/condition.hpp"
#include "kube/classify.hpp"

namespace controllers {
namespace {

using api::Json;
using base::kv;

constexpr const char* kWayOut = "apply config/optional/soft-taints.yaml for the operator's ServiceAccount";

}  // namespace

void SoftTaints::register_policy(const std::string& policy) {
  const std::lock_guard lock(mutex_);
  claims_.register_policy(policy);
}

bool SoftTaints::place(const std::string& policy, const std::vector<planner::NodeTaint>& taints,
                       const std::function<void()>& progress) {
  {
    const std::lock_guard lock(mutex_);
    claims_.claim(policy, taints);
    unjudged_cycles_.erase(policy);
  }
  std::set<std::string_view> wanted;
  for (const planner::NodeTaint& taint : taints) wanted.insert(taint.node);
  std::size_t written = 0;
  for (const std::string& node : due()) {
    const bool is_too_much = written++ >= kMaxAtOnce;
    const base::Status done = is_too_much ? base::Status(base::Done{}) : write(node);
    if (is_too_much || !done) deps_.enqueue(node);
    const bool misleads = !done && wanted.contains(node);
    if (misleads || is_forbidden()) {
      if (!taints.empty()) drop(policy);
      if (misleads) give_up(policy, done.error());
      return false;
    }
    if (progress) progress();
  }
  return true;
}

void SoftTaints::pledge(const std::string& policy, TaintPledge pledge) {
  const std::lock_guard lock(mutex_);
  pledges_.add(policy, std::move(pledge));
}

std::vector<std::string> SoftTaints::pledged(const std::string& policy, const std::vector<api::ObjectKey>& unfinished,
                                             const TaintPledges::Look& look, base::TimePoint now) {
  const api::Taint wanted{std::string(api::well_known::kLoadedTaint), api::soft_taint_value(policy),
                          api::TaintEffect::kPreferNoSchedule};
  std::vector<std::string> bearers;
  for (const auto& node : deps_.nodes.list()) {
    if (std::ranges::find(node->taints, wanted) != node->taints.end()) bearers.push_back(node->meta.name);
  }
  const std::lock_guard lock(mutex_);
  if (claims_.is_only_known(policy)) pledges_.add(policy, {bearers, unfinished, now});
  const std::vector<std::string> nodes = pledges_.nodes_of(policy, look, now);
  std::vector<planner::NodeTaint>& taints = pledged_[policy];
  taints.clear();
  for (const std::string& node : nodes)
    taints.push_back({node, std::string(api::well_known::kLoadedTaint), api::soft_taint_value(policy)});
  return nodes;
}

void SoftTaints::forget_pledges(const std::string& policy) {
  const std::lock_guard lock(mutex_);
  pledges_.drop(policy);
  pledged_.erase(policy);
}

/// Stops tainting for a while: nodes wrongly assumed to be tainted would invalidate the policy's whole plan.
void SoftTaints::give_up(const std::string& policy, const base::Error& error) {
  using base::ErrorCode;
  const bool lasts = error.code == ErrorCode::kForbidden || error.code == ErrorCode::kInvalid;
  const std::lock_guard lock(mutex_);
  given_up_[policy] = {
      deps_.clock.now() + (lasts ? kForbiddenFor : kFailedFor),
      {lasts ? api::Reason::kForbidden : api::Reason::kRetryLater, "the policy taints no node: " + error.message}};
}

void SoftTaints::keep(const std::string& policy) {
  {
    const std::lock_guard lock(mutex_);
    claims_.register_policy(policy);
    if (++unjudged_cycles_[policy] <= kMaxUnjudgedCycles) return;
    const auto known = pledged_.find(policy);
    if (known != pledged_.end() && !known->second.empty()) return claims_.claim(policy, known->second);
  }
  drop(policy);
}

void SoftTaints::drop(const std::string& policy) {
  {
    const std::lock_guard lock(mutex_);
    claims_.drop(policy);
    pledges_.drop(policy);
    pledged_.erase(policy);
    unjudged_cycles_.erase(policy);
    given_up_.erase(policy);
  }
  enqueue_due();
}

void SoftTaints::drop(const std::string& policy, std::string_view key) {
  {
    const std::lock_guard lock(mutex_);
    if (!claims_.drop(policy, key)) return;
  }
  enqueue_due();
}

SoftTaints::Problem SoftTaints::problem(const std::string& policy) const {
  const std::lock_guard lock(mutex_);
  const base::TimePoint now = deps_.clock.now();
  if (forbidden_ && now < forbidden_->until) return forbidden_->problem;
  const auto own = given_up_.find(policy);
  return own != given_up_.end() && now < own->second.until ? own->second.problem : Problem{};
}

bool SoftTaints::is_forbidden() const {
  const std::lock_guard lock(mutex_);
  return forbidden_ && deps_.clock.now() < forbidden_->until;
}

std::size_t SoftTaints::nodes_of(const std::string& policy) const {
  const std::lock_guard lock(mutex_);
  return claims_.nodes_of(policy);
}

TaintChange SoftTaints::change_for(const std::string& node, const std::vector<api::Taint>& taints) const {
  const std::lock_guard lock(mutex_);
  return claims_.change_for(node, taints);
}

void SoftTaints::on_node(const api::Node& node) {
  if (!change_for(node.meta.name, node.taints).empty()) deps_.enqueue(node.meta.name);
}

std::vector<std::string> SoftTaints::due() const {
  std::vector<std::string> names;
  for (const auto& node : deps_.nodes.list()) {
    if (!change_for(node->meta.name, node->taints).empty()) names.push_back(node->meta.name);
  }
  return names;
}

void SoftTaints::enqueue_due() const {
  for (const std::string& node : due()) deps_.enqueue(node);
}

base::Result<kube::Requeue> SoftTaints::reconcile(const api::ObjectKey& node) {
  const auto seen = deps_.nodes.get(node);
  if (!seen || change_for(node.name, seen->taints).empty()) return kube::Requeue::await_change();
  if (is_forbidden()) return kube::Requeue::in(kForbiddenFor);
  if (const auto written = write(node.name); !written) {
    if (written.error().code == base::ErrorCode::kForbidden) return kube::Requeue::in(kForbiddenFor);
    return written.error();
  }
  return kube::Requeue::await_change();
}

/// A 403 for a missing right applies to all nodes, a 403 of an admission webhook to this node only.
base::Error SoftTaints::refused(const std::string& node, const base::Error& error) {
  if (kube::is_right_missing(error)) {
    const std::lock_guard lock(mutex_);
    forbidden_ = {deps_.clock.now() + kForbiddenFor,
                  {api::Reason::kForbidden, fmt::format("no soft taints are written: {}; {}", error.message, kWayOut)}};
  }
  return error.during("writing the soft taints of node " + node);
}

/// Retries conflicts with a new read, because kubelets write their nodes frequently.
base::Status SoftTaints::write(const std::string& node) {
  constexpr int kTries = 3;
  base::Status done = try_to_write(node);
  for (int i = 1; i < kTries && !done && done.error().code == base::ErrorCode::kConflict; ++i)
    done = try_to_write(node);
  return done;
}

/// Reads the node first, because the cache may lag behind our own and other writes.
base::Status SoftTaints::try_to_write(const std::string& node) {
  if (!deps_.may_act()) return base::Error{base::ErrorCode::kCancelled, "not the leader"};
  const auto body = deps_.client.get(kube::kNodes, {"", node});
  if (!body && body.error().code == base::ErrorCode::kNotFound) return base::Done{};
  if (!body) return refused(node, body.error());
  const auto object = api::parse_json(*body);
  if (!object) return object.error();
  const TaintChange change = change_for(node, taints_in(*object));
  if (change.empty()) return base::Done{};
  const Json& meta = object->at("metadata");
  const Json patch = {
      {"metadata", {{"uid", meta.value("uid", "")}, {"resourceVersion", meta.value("resourceVersion", "")}}},
      {"spec", {{"taints", with_change(*object, change)}}}};
  const auto done = deps_.client.patch(kube::kNodes, {"", node}, kube::PatchType::kMerge, patch);
  if (!done && done.error().code == base::ErrorCode::kNotFound) return base::Done{};
  if (!done) return refused(node, done.error());
  deps_.metrics.counter("evacuator_soft_taint_writes_total", "Number of nodes whose soft taints were written.", {})
      .increment();
  deps_.log.info("wrote soft taints",
                 {kv("node", node), kv("added", change.add.size()), kv("removed", change.remove.size())});
  return base::Done{};
}

void set_soft_taints_condition(std::vector<api::Condition>& conditions, bool asks, const SoftTaints::Problem& problem,
                               std::size_t nodes, std::int64_t generation, base::TimePoint now) {
  constexpr api::ConditionType kType = api::ConditionType::kSoftTaints;
  if (!asks) {
    std::erase_if(conditions, [](const api::Condition& each) { return each.type == kType; });
    return;
  }
  const bool works = problem.empty();
  std::string text = !works       ? problem.text
                     : nodes == 1 ? "1 node has a soft taint of this policy"
                                  : fmt::format("{} nodes have a soft taint of this policy", nodes);
  api::set_condition(conditions, condition(kType, works, problem.reason, std::move(text), generation), now);
}

}  // namespace controllers
