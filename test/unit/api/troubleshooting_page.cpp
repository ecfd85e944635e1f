#include "troubleshooting_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "api/vocabulary/blockers.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/events.hpp"
#include "api/vocabulary/reasons.hpp"
#include "api/vocabulary/refusals.hpp"

namespace api_reference {
namespace {

constexpr std::string_view kHead = R"(# Troubleshooting

For users and administrators who read a status or an Event: every word that Evacuator writes into them. Find your word with the search of your browser.

Generated from `api/vocabulary/` by `make generate`; do not edit.

## Where to look

| question | command |
|---|---|
| What does it wait for? | `kubectl get evac -n NAMESPACE -o wide` (columns REASON and BLOCKED-BY) |
| What are its full messages? | `kubectl describe evac NAME -n NAMESPACE` (status, conditions, Events) |
| How did each attempt end? | `kubectl get evac NAME -n NAMESPACE -o jsonpath='{.status.history}'` |
| Why does a policy (not) move a pod? | `kubectl evacuator explain pod/NAME -n NAMESPACE` |
| Is a policy in force? | `kubectl describe dsp NAME` |
| What did the operator log? | `kubectl logs -n evacuator-system deployment/evacuator` |

A reason that is not on this page comes from another component, such as the workload's operator, or from another version of Evacuator.
)";

/// Escapes the text for a table cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

template <typename E>
std::vector<api::Term<E>> by_name(std::span<const api::Term<E>> table) {
  std::vector<api::Term<E>> sorted(table.begin(), table.end());
  std::ranges::sort(sorted, {}, &api::Term<E>::name);
  return sorted;
}

template <typename E>
void write_rows(const std::vector<api::Term<E>>& terms, std::string& page) {
  for (const auto& term : terms) {
    page += fmt::format("| `{}` | {} | {} | {} |\n", term.name, cell(term.where), cell(term.meaning),
                        term.remedy.empty() ? "Nothing to do." : cell(term.remedy));
  }
}

void write_blockers(std::string& page) {
  page +=
      "\n## BLOCKED-BY\n\nThe wide column BLOCKED-BY is short for `status.blockedBy`. There the field `message` has "
      "the "
      "details, and `since` the time.\n\n| kind | BLOCKED-BY | meaning | what to do |\n|---|---|---|---|\n";
  write_rows(by_name(api::blocker_kinds()), page);
  page +=
      "\n### Limits\n\n`limit/node` is a limit of the operator, `limit/policy NAME node` one of a policy. See "
      "[limits](concepts/limits.md).\n\n| scope | setting | meaning | what to do |\n|---|---|---|---|\n";
  write_rows(by_name(api::limit_scopes()), page);
}

void write_reasons(std::string& page) {
  page +=
      "\n## Condition reasons\n\nThe reasons of conditions, of `status.reason` (column REASON) and of "
      "`status.history`.\n\n| reason | where | meaning | what to do |\n|---|---|---|---|\n";
  write_rows(by_name(api::reasons()), page);
  page += "\n### Conditions\n\n| condition | kind | meaning of True |\n|---|---|---|\n";
  for (const auto& term : api::condition_types()) {
    page += fmt::format("| `{}` | {} | {} |\n", term.name, term.where, cell(term.meaning));
  }
}

void write_events(std::string& page) {
  page +=
      "\n## Event reasons\n\nThe column \"on\" names the object that the Event is about.\n\n| reason | on | meaning | "
      "what to do |\n|---|---|---|---|\n";
  write_rows(by_name(api::event_reasons()), page);
}

void write_refusals(std::span<const api::RefusalTerm> terms, std::string& page) {
  page += "| reason | meaning | what to do |\n|---|---|---|\n";
  for (const api::RefusalTerm& term : terms) {
    page += fmt::format("| `{}` | {} | {} |\n", term.name, cell(term.meaning),
                        term.remedy.empty() ? "Nothing to do." : cell(term.remedy));
  }
}

void write_refusals(std::string& page) {
  page +=
      "\n## Refusals\n\nWhy a plan leaves a pod where it is: `status.refusals`, `status.lastCycle.refused`, `simulate` "
      "and `explain`.\n\n";
  write_refusals(api::pod_refusals(), page);
  page += "\n### Nodes\n\nWhy a node does not take a pod, or is not freed.\n\n";
  write_refusals(api::node_refusals(), page);
}

}  // namespace

std::string troubleshooting_page() {
  std::string page(kHead);
  write_blockers(page);
  write_reasons(page);
  write_events(page);
  write_refusals(page);
  return page;
}

}  // namespace api_reference
