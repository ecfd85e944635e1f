/// Enforces the bounds on the affinity terms of all pods by ignoring terms beyond them.

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "api/core/terms/pod_bounds.hpp"
#include "api/core/terms/term_hash.hpp"
#include "base/fair_share.hpp"
#include "planner/snapshot/term_shares.hpp"
#include "planner/snapshot/update.hpp"

namespace scheduling {
namespace {

constexpr std::size_t kNoUse = std::numeric_limits<std::size_t>::max();

}  // namespace

std::vector<std::size_t> beyond_share(std::span<const TermUse> uses, std::size_t max) {
  std::unordered_map<std::uint32_t, std::size_t> by_namespace;
  for (const TermUse& each : uses) by_namespace[each.ns] += each.terms;
  std::vector<std::size_t> amounts;
  for (const auto& [ns, terms] : by_namespace) amounts.push_back(terms);
  const std::size_t share =
      std::max(base::fair_share(std::move(amounts), max).value_or(std::numeric_limits<std::size_t>::max()),
               kMinTermsOfNamespace);
  std::unordered_map<std::uint32_t, std::size_t> taken;
  std::vector<std::size_t> beyond;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    std::size_t& sum = taken[uses[i].ns];
    if (uses[i].terms > 0 && uses[i].terms > share - std::min(sum, share))
      beyond.push_back(i);
    else
      sum += uses[i].terms;
  }
  return beyond;
}

/// A pod with affinity terms, as it was given.
struct ClusterSnapshot::Update::WithTerms {
  PodIndex pod;
  std::shared_ptr<const api::Pod> given;
};

/// Adds (`by` = 1) or removes (`by` = -1) the terms of a pod.
void ClusterSnapshot::Update::count_terms(const PodEntry& entry, int by) {
  const api::Affinity* const affinity = entry.object->affinity.get();
  const std::size_t terms = affinity == nullptr || entry.terminal ? 0 : api::pod_term_weight(*affinity);
  if (terms == 0) return;
  terms_due_ = true;
  const std::string_view ns = cluster_.namespaces_[entry.ns].name;
  const LabelStorage labels = api::compares_labels(*affinity) ? entry.object->meta.labels.begin() : nullptr;
  const auto at = cluster_.term_users_.try_emplace({affinity, ns.data(), labels}, 0).first;
  const bool was_used = at->second > 0;
  at->second += by;
  if (was_used == (at->second > 0)) return;
  if (was_used) cluster_.term_users_.erase(at);
  cluster_.terms_ += by * static_cast<std::int64_t>(terms);
  cluster_.foreign_terms_ += by * static_cast<std::int64_t>(api::foreign_term_weight(*affinity, ns));
}

/// Returns pods with terms in the order of their numbers.
std::vector<ClusterSnapshot::Update::WithTerms> ClusterSnapshot::Update::pods_with_terms() const {
  std::vector<WithTerms> pods;
  for (const PodIndex pod : cluster_.pods()) {
    const PodEntry& entry = cluster_.pods_[pod];
    if (entry.has_pod_affinity || entry.is_anti_affine) pods.push_back({pod, entry.object});
  }
  for (const auto& given : cluster_.pods_beyond_term_limits_) {
    if (const auto pod = find(given->meta)) pods.push_back({*pod, given});
  }
  std::ranges::sort(pods, {}, &WithTerms::pod);
  return pods;
}

void ClusterSnapshot::Update::limit_terms() {
  const bool is_below = std::cmp_less_equal(cluster_.terms_, kMaxTermsInCluster) &&
                        std::cmp_less_equal(cluster_.foreign_terms_, kMaxForeignTerms);
  if (is_below && cluster_.pods_beyond_term_limits_.empty()) return;
  const std::vector<WithTerms> pods = pods_with_terms();
  std::vector<std::size_t> use_of(pods.size(), kNoUse);
  const std::set<std::size_t> ignored = uses_beyond_bounds(pods, use_of);
  for (std::size_t i = 0; i < pods.size(); ++i)
    ignored.contains(use_of[i]) ? ignore_terms_of(pods[i].pod) : restore_terms_of(pods[i].pod, pods[i].given);
  terms_due_ = false;
}

/// Numbers the kinds of pods whose terms count once, in order. Writes the number of each pod to `use_of`; entries of
/// terminal pods stay unchanged. Returns the numbers that exceed a bound.
std::set<std::size_t> ClusterSnapshot::Update::uses_beyond_bounds(std::span<const WithTerms> pods,
                                                                  std::span<std::size_t> use_of) const {
  std::vector<TermUse> all;
  std::vector<TermUse> foreign;
  std::map<std::tuple<NamespaceIndex, const api::Affinity*, LabelStorage>, std::size_t> known;
  api::EqualAffinities equal;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const PodEntry& entry = cluster_.pods_[pods[i].pod];
    if (entry.terminal) continue;
    const api::ObjectMeta& meta = pods[i].given->meta;
    const api::Affinity* const affinity = equal.intern(pods[i].given->affinity.get());
    const LabelStorage labels = api::compares_labels(*affinity) ? meta.labels.begin() : nullptr;
    const auto [at, is_new] = known.try_emplace({entry.ns, affinity, labels}, all.size());
    use_of[i] = at->second;
    if (!is_new) continue;
    all.push_back({entry.ns, api::pod_term_weight(*affinity)});
    foreign.push_back({entry.ns, api::foreign_term_weight(*affinity, meta.ns)});
  }
  std::set<std::size_t> beyond;
  for (const std::size_t use : beyond_share(all, kMaxTermsInCluster)) beyond.insert(use);
  for (const std::size_t use : beyond_share(foreign, kMaxForeignTerms)) beyond.insert(use);
  return beyond;
}

void ClusterSnapshot::Update::ignore_terms_of(PodIndex pod) {
  const auto given = cluster_.pods_[pod].object;
  if (given->oversized == api::kTermsOfNamespace) return;
  api::Pod without = *given;
  api::drop_terms(without, api::kTermsOfNamespace);
  cluster_.pods_beyond_term_limits_.insert(given);
  problems_due_ = true;
  replace_object(pod, std::make_shared<const api::Pod>(std::move(without)));
}

void ClusterSnapshot::Update::restore_terms_of(PodIndex pod, std::shared_ptr<const api::Pod> given) {
  if (cluster_.pods_[pod].object == given) return;
  cluster_.pods_beyond_term_limits_.erase(given);
  problems_due_ = true;
  replace_object(pod, std::move(given));
}

void ClusterSnapshot::Update::report_crowded() const {
  for (const auto& pod : cluster_.pods_beyond_term_limits_) {
    if (const auto known = find(pod->meta)) report_oversized(*cluster_.pods_[*known].object, cluster_.problems_);
  }
}

}  // namespace scheduling
