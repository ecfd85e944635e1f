#include "controllers/policy/taints/pledges.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace controllers {

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
