#include "api/meta/condition.hpp"

#include <algorithm>

#include "api/wire_names.hpp"

namespace api {

std::string_view to_string(ConditionStatus status) { return name_of(kConditionStatusNames, status); }

bool set_condition(std::vector<Condition>& conditions, Condition next, base::TimePoint now) {
  const auto it = std::ranges::find(conditions, next.type, &Condition::type);
  next.last_transition_time = now;
  if (it == conditions.end()) {
    conditions.push_back(std::move(next));
    return true;
  }
  if (it->status == next.status) next.last_transition_time = it->last_transition_time;
  if (*it == next) return false;
  *it = std::move(next);
  return true;
}

const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type) {
  const auto it = std::ranges::find(conditions, type, &Condition::type);
  return it == conditions.end() ? nullptr : &*it;
}

bool is_true(const std::vector<Condition>& conditions, std::string_view type) {
  const Condition* condition = find_condition(conditions, type);
  return condition != nullptr && condition->status == ConditionStatus::kTrue;
}

}  // namespace api
