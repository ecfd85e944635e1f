#pragma once

/// Bounds on the affinity terms of all pods together. Pure.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace scheduling {

/// Pod (anti-)affinity terms of a cluster that planning takes into account, by weight (api::pod_term_weight()). Pods of
/// one namespace that share an affinity count once, or once for each set of labels if a term compares labels. Real
/// clusters have a few terms per workload.
inline constexpr std::size_t kMaxTermsInCluster = std::size_t{1} << 16;
/// Terms among them that select pods of other namespaces: they are compared with the labels of the whole cluster.
inline constexpr std::size_t kMaxForeignTerms = 2048;

/// Weight of the terms of each namespace that is never ignored, however many namespaces share a bound.
inline constexpr std::size_t kMinTermsOfNamespace = 8;

/// Weight of the terms that one kind of pods of a namespace has.
struct TermUse {
  std::uint32_t ns;
  std::size_t terms;
};

/// Positions in `uses` that have to be ignored, so that the others have at most `max` terms together, in order.
/// Namespaces share `max` evenly, but each has kMinTermsOfNamespace at least: one with few terms loses none. Of a
/// namespace above its share the last uses go.
std::vector<std::size_t> beyond_share(std::span<const TermUse> uses, std::size_t max);

}  // namespace scheduling
