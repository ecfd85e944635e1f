#include "controllers/policy/taints/claims.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/core/soft_taint.hpp"
#include "api/json/json_access.hpp"
#include "api/meta/label_value.hpp"
#include "api/meta/well_known.hpp"

namespace controllers {
namespace {

using api::Json;

constexpr const char* kEffect = "PreferNoSchedule";

}  // namespace

void TaintClaims::register_policy(const std::string& policy) { by_value_.try_emplace(api::soft_taint_value(policy)); }

void TaintClaims::claim(const std::string& policy, const std::vector<planner::NodeTaint>& taints) {
  std::set<Key> wanted;
  for (const planner::NodeTaint& taint : taints) wanted.emplace(taint.node, taint.key);
  forget_dropped(api::soft_taint_value(policy));
  by_value_[api::soft_taint_value(policy)] = std::move(wanted);
}

void TaintClaims::drop(const std::string& policy) {
  forget_dropped(api::soft_taint_value(policy));
  by_value_.erase(api::soft_taint_value(policy));
}

bool TaintClaims::drop(const std::string& policy, std::string_view key) {
  const auto at = by_value_.find(api::soft_taint_value(policy));
  if (at == by_value_.end()) return false;
  if (!at->second) return dropped_.emplace(at->first, key).second;
  return std::erase_if(*at->second, [&](const Key& each) { return each.second == key; }) > 0;
}

void TaintClaims::forget_dropped(const std::string& value) {
  std::erase_if(dropped_, [&](const auto& each) { return each.first == value; });
}

bool TaintClaims::is_only_known(const std::string& policy) const {
  const auto at = by_value_.find(api::soft_taint_value(policy));
  return at != by_value_.end() && !at->second;
}

std::size_t TaintClaims::nodes_of(const std::string& policy) const {
  const auto at = by_value_.find(api::soft_taint_value(policy));
  if (at == by_value_.end() || !at->second) return 0;
  std::set<std::string> nodes;
  for (const auto& [node, key] : *at->second) nodes.insert(node);
  return nodes.size();
}

bool TaintClaims::wants(const std::string& node, const api::Taint& taint) const {
  const auto at = by_value_.find(taint.value);
  if (at == by_value_.end()) return false;
  if (!at->second) return !dropped_.contains({taint.value, taint.key});
  return at->second->contains({node, taint.key});
}

TaintChange TaintClaims::change_for(const std::string& node, const std::vector<api::Taint>& taints) const {
  TaintChange change;
  for (const api::Taint& taint : taints) {
    if (api::is_soft_taint(taint) && !wants(node, taint)) change.remove.push_back(taint);
  }
  for (const std::string_view key : api::well_known::kSoftTaints) {
    const auto stays = [&](const api::Taint& taint) {
      return taint.key == key && api::is_soft_taint(taint) && wants(node, taint);
    };
    if (std::ranges::any_of(taints, stays)) continue;
    const auto first = std::ranges::find_if(by_value_, [&](const auto& each) {
      return each.second && each.second->contains({node, std::string(key)});
    });
    if (first != by_value_.end())
      change.add.push_back({std::string(key), first->first, api::TaintEffect::kPreferNoSchedule});
  }
  return change;
}

std::vector<api::Taint> taints_in(const Json& node) {
  std::vector<api::Taint> taints;
  for (const Json& entry : api::items_at(node, {"spec", "taints"})) {
    if (!entry.is_object() || entry.value("effect", "") != kEffect) continue;
    taints.push_back({entry.value("key", ""), entry.value("value", ""), api::TaintEffect::kPreferNoSchedule});
  }
  return taints;
}

Json with_change(const Json& node, const TaintChange& change) {
  Json after = Json::array();
  for (const Json& entry : api::items_at(node, {"spec", "taints"})) {
    const auto goes = [&](const api::Taint& taint) {
      return entry.is_object() && entry.value("key", "") == taint.key && entry.value("value", "") == taint.value &&
             entry.value("effect", "") == kEffect;
    };
    if (std::ranges::none_of(change.remove, goes)) after.push_back(entry);
  }
  for (const api::Taint& taint : change.add)
    after.push_back({{"key", taint.key}, {"value", taint.value}, {"effect", kEffect}});
  return after;
}

void TaintPledges::add(const std::string& policy, TaintPledge pledge) {
  if (!pledge.nodes.empty() && !pledge.evacuations.empty()) by_policy_[policy].push_back(std::move(pledge));
}

std::vector<std::string> TaintPledges::nodes_of(const std::string& policy, const Look& look, base::TimePoint now) {
  const auto known = by_policy_.find(policy);
  if (known == by_policy_.end()) return {};
  std::set<std::string> nodes;
  for (TaintPledge& pledge : known->second) {
    std::erase_if(pledge.evacuations, [&](const api::ObjectKey& evacuation) {
      const Progress progress = look(evacuation);
      return progress == Progress::kFinished || (progress == Progress::kNotSeen && now - pledge.made > kUnseen);
    });
    if (!pledge.evacuations.empty()) nodes.insert(pledge.nodes.begin(), pledge.nodes.end());
  }
  std::erase_if(known->second, [](const TaintPledge& pledge) { return pledge.evacuations.empty(); });
  if (known->second.empty()) by_policy_.erase(known);
  return {nodes.begin(), nodes.end()};
}

}  // namespace controllers
