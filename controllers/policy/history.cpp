#include "controllers/policy/history.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.hpp"

namespace controllers {
namespace {

std::string shortened(const std::string& text) {
  return text.size() <= kMaxKeptMessage ? text : base::truncate_utf8(text, kMaxKeptMessage) + "…";
}

api::PastDecision past_decision_about(const api::PlannedMove& move) {
  api::PastDecision decision;
  decision.ns = move.ns;
  decision.pod = move.pod;
  decision.uid = move.uid;
  decision.nominated = true;
  decision.node = move.from;
  decision.to = move.to;
  decision.strategy = move.strategy;
  decision.message = shortened(move.reason);
  return decision;
}

api::PastDecision past_decision_about(const api::RefusedPod& refused) {
  api::PastDecision decision;
  decision.ns = refused.ns;
  decision.pod = refused.pod;
  decision.uid = refused.uid;
  decision.node = refused.node;
  decision.strategy = refused.strategy;
  decision.reason = refused.reason;
  decision.message = shortened(refused.message);
  decision.subject = refused.subject;
  decision.wanted = refused.wanted;
  decision.available = refused.available;
  return decision;
}

template <typename Rows>
void take_decisions(const Rows& rows, std::vector<api::PastDecision>& into) {
  for (std::size_t i = 0; i < std::min(rows.size(), kMaxKeptPerCycle); ++i)
    into.push_back(past_decision_about(rows[i]));
}

/// All fields except the cycles.
auto identity_of(const api::PastDecision& d) {
  return std::tie(d.uid, d.nominated, d.strategy, d.reason, d.message, d.node, d.to, d.subject, d.wanted, d.available,
                  d.ns, d.pod);
}

/// Drops cycles before `first_kept`, and decisions without a remaining cycle.
void forget_before(std::int64_t first_kept, api::PolicyHistory& history) {
  std::erase_if(history.cycles, [&](const api::PastCycle& cycle) { return cycle.number < first_kept; });
  for (api::PastDecision& decision : history.decisions)
    std::erase_if(decision.cycles, [&](std::int64_t number) { return number < first_kept; });
  std::erase_if(history.decisions, [](const api::PastDecision& decision) { return decision.cycles.empty(); });
}

/// Result: the rows of this cycle, in its order, with the older cycles of equal decisions; then the other rows.
void merge_decisions(std::vector<api::PastDecision> news, std::int64_t number, std::vector<api::PastDecision>& rows) {
  std::multimap<std::string_view, const api::PastDecision*> by_uid;
  for (const api::PastDecision& row : rows) by_uid.emplace(row.uid, &row);
  std::vector<const api::PastDecision*> taken;
  for (api::PastDecision& decision : news) {
    for (auto [at, last] = by_uid.equal_range(decision.uid); at != last; ++at) {
      if (identity_of(*at->second) != identity_of(decision)) continue;
      decision.cycles = at->second->cycles;
      taken.push_back(at->second);
      by_uid.erase(at);
      break;
    }
    decision.cycles.push_back(number);
  }
  std::ranges::sort(taken);
  for (api::PastDecision& row : rows) {
    if (!std::ranges::binary_search(taken, static_cast<const api::PastDecision*>(&row))) news.push_back(std::move(row));
  }
  rows = std::move(news);
}

/// Merges rows that differ only in their numbers, with the newest numbers. REQUIRES: `rows` are ordered newest first.
void join_similar(std::vector<api::PastDecision>& rows) {
  using Key = std::tuple<std::string, bool, std::string, std::string, std::string, std::string, std::string>;
  std::map<Key, std::size_t> first;
  std::vector<api::PastDecision> joined;
  for (api::PastDecision& row : rows) {
    const Key key{row.uid, row.nominated, row.strategy, row.reason, row.node, row.to, row.subject};
    const auto [at, is_new] = first.emplace(key, joined.size());
    if (is_new) {
      joined.push_back(std::move(row));
      continue;
    }
    std::vector<std::int64_t>& cycles = joined[at->second].cycles;
    cycles.insert(cycles.end(), row.cycles.begin(), row.cycles.end());
    std::ranges::sort(cycles);
    cycles.erase(std::unique(cycles.begin(), cycles.end()), cycles.end());
  }
  rows = std::move(joined);
}

void drop_rows(api::PolicyHistory& history) {
  if (history.decisions.size() <= api::kMaxPastDecisions) return;
  const auto newest = [](const api::PastDecision& decision) { return decision.cycles.back(); };
  std::ranges::stable_sort(history.decisions, std::ranges::greater{}, newest);
  join_similar(history.decisions);
  if (history.decisions.size() <= api::kMaxPastDecisions) return;
  for (std::size_t i = api::kMaxPastDecisions; i < history.decisions.size(); ++i) {
    for (api::PastCycle& cycle : history.cycles)
      cycle.left_out += static_cast<std::int32_t>(std::ranges::count(history.decisions[i].cycles, cycle.number));
  }
  history.decisions.resize(api::kMaxPastDecisions);
}

}  // namespace

api::PolicyHistory next_history(api::PolicyHistory before, const CycleOutcome& outcome, std::int32_t keep) {
  if (keep <= 0) return {};
  const std::int64_t number = before.cycles.empty() ? 1 : before.cycles.back().number + 1;
  forget_before(number - keep + 1, before);
  std::vector<api::PastDecision> news;
  take_decisions(outcome.moves, news);
  take_decisions(outcome.refusals, news);
  const api::LastCycle& summary = outcome.summary;
  std::int32_t left_out = summary.nominated - static_cast<std::int32_t>(news.size());
  for (const api::ReasonCount& each : summary.refused) left_out += each.count;
  before.cycles.push_back({.number = number,
                           .start = std::chrono::floor<base::seconds>(summary.start),
                           .nominated = summary.nominated,
                           .created = summary.created,
                           .refused = summary.refused,
                           .left_out = std::max(0, left_out)});
  merge_decisions(std::move(news), number, before.decisions);
  drop_rows(before);
  return before;
}

}  // namespace controllers
