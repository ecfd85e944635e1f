#include "cmd/advise/risk_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "cmd/table.hpp"
#include "planner/report/plain_text.hpp"

namespace cmd::advise {
namespace {

using advisor::Finding;
using Group = std::vector<const Finding*>;

/// Number of names shown per group.
constexpr std::size_t kNames = 3;

std::string names_of(const Group& group) {
  std::vector<std::string> names;
  for (const Finding* each : group) names.push_back(report::plain_text(each->name));
  return first_names(std::move(names), kNames);
}

const char* noun_of(const Finding& finding, std::size_t count) {
  const bool is_one = count == 1;
  if (finding.kind == "PodDisruptionBudget") return is_one ? "budget" : "budgets";
  if (finding.kind == "PriorityClass") return is_one ? "class" : "classes";
  return is_one ? "workload" : "workloads";
}

RiskRow row_of(const Group& group, std::string what) {
  const Finding& first = *group.front();
  RiskRow row{std::string(to_string(first.cause)), std::move(what), 0,
              report::plain_text(first.why),       first.change,    group.size()};
  for (const Finding* each : group) row.pods += each->pods;
  const bool is_same = std::ranges::all_of(group, [&](const Finding* each) { return each->why == first.why; });
  if (!is_same) row.why = "such as " + row.why;
  return row;
}

RiskRow namespace_row(const Group& group) {
  const Finding& first = *group.front();
  if (group.size() == 1) return row_of(group, subject_of(first));
  const std::string head = first.ns.empty() ? std::string() : report::plain_text(first.ns) + ": ";
  return row_of(group, fmt::format("{}{} {} ({})", head, group.size(), noun_of(first, group.size()), names_of(group)));
}

/// Groups findings by namespace, largest group first. Ties are ordered by namespace.
std::vector<Group> by_namespace(const Group& all) {
  std::map<std::string, Group> groups;
  for (const Finding* each : all) groups[each->ns].push_back(each);
  std::vector<Group> sorted;
  for (auto& [ns, group] : groups) {
    std::ranges::sort(group, {}, [](const Finding* each) -> const std::string& { return each->name; });
    sorted.push_back(std::move(group));
  }
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &Group::size);
  return sorted;
}

void add_rows(const Group& all, std::vector<RiskRow>& rows) {
  if (all.size() <= kMaxSingleRisks) {
    for (const Finding* each : all) rows.push_back(row_of({each}, subject_of(*each)));
    return;
  }
  std::vector<Group> groups = by_namespace(all);
  const std::size_t shown = groups.size() > kMaxRiskNamespaces ? kMaxRiskNamespaces - 1 : groups.size();
  for (std::size_t i = 0; i < shown; ++i) rows.push_back(namespace_row(groups[i]));
  if (shown == groups.size()) return;
  Group rest;
  for (std::size_t i = shown; i < groups.size(); ++i) std::ranges::copy(groups[i], std::back_inserter(rest));
  rows.push_back(row_of(rest, fmt::format("{} more namespaces: {} {}", groups.size() - shown, rest.size(),
                                          noun_of(*rest.front(), rest.size()))));
}

}  // namespace

std::string subject_of(const Finding& finding) {
  if (finding.name.empty()) return "(all of them)";
  const std::string name = finding.ns.empty() ? finding.name : finding.ns + "/" + finding.name;
  return report::plain_text(finding.kind + " " + name);
}

std::vector<RiskRow> risk_rows(const std::vector<Finding>& findings) {
  std::vector<advisor::Cause> order;
  std::map<advisor::Cause, Group> by_cause;
  for (const Finding& each : findings) {
    if (has_effect(each.cause)) continue;
    Group& group = by_cause[each.cause];
    if (group.empty()) order.push_back(each.cause);
    group.push_back(&each);
  }
  std::vector<RiskRow> rows;
  for (const advisor::Cause cause : order) add_rows(by_cause[cause], rows);
  return rows;
}

}  // namespace cmd::advise
