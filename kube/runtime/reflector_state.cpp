#include "kube/runtime/reflector_state.hpp"

#include <algorithm>

#include "base/backoff.hpp"

namespace kube {
namespace {

constexpr int kMinPage = 20;
constexpr int kMaxPage = 4000;
// The server refuses a version ahead of its own (etcd restored from a backup) with endless timeouts. After this
// number of consecutive refusals the reflector lists again.
constexpr int kRefusalsBeforeList = 4;

int more(int failures) { return std::min(failures + 1, 1 << 20); }

/// Errors that a smaller page may avoid: interrupted, late or too large answers.
bool is_too_heavy(base::ErrorCode code) {
  return code == base::ErrorCode::kOutcomeUnknown || code == base::ErrorCode::kTimeout ||
         code == base::ErrorCode::kInvalid;
}

NeedsList after_failed_list(const NeedsList& from, const base::Error& error) {
  NeedsList next{more(from.failures), from.page_shift};
  if (is_too_heavy(error.code)) next.page_shift = std::max(from.page_shift - 1, -5);
  // The continue token expired, because etcd was compacted before the last page. Fewer, larger pages are faster.
  if (error.code == base::ErrorCode::kGone) next.page_shift = std::min(from.page_shift + 1, 3);
  return next;
}

ReflectorState after_refusal(const std::string& version, int failures, const base::Error& error) {
  using base::ErrorCode;
  if (error.code == ErrorCode::kGone) return NeedsList{more(failures)};
  const bool hopeless = error.code == ErrorCode::kInvalid ||
                        (error.code == ErrorCode::kOutcomeUnknown && failures + 1 >= kRefusalsBeforeList);
  if (hopeless) return NeedsList{more(failures)};
  return MustWatch{version, more(failures)};
}

ReflectorState after(const NeedsList& from, const ReflectorInput& input) {
  return std::visit(base::Overload{
                        [&](const Listed& in) -> ReflectorState {
                          return MustWatch{in.resource_version, from.failures};
                        },
                        [&](const ListOpened&) -> ReflectorState { return Streaming{from.failures}; },
                        [&](const ListFailed& in) -> ReflectorState { return after_failed_list(from, in.error); },
                        [&](const auto&) -> ReflectorState { return from; },
                    },
                    input);
}

ReflectorState after(const Streaming& from, const ReflectorInput& input) {
  return std::visit(base::Overload{
                        [&](const Listed& in) -> ReflectorState {
                          return Watching{in.resource_version, from.failures, true};
                        },
                        // Uses the normal page size, because no page was requested yet.
                        [&](const ListFailed&) -> ReflectorState { return NeedsList{more(from.failures)}; },
                        [&](const auto&) -> ReflectorState { return from; },
                    },
                    input);
}

ReflectorState after(const MustWatch& from, const ReflectorInput& input) {
  return std::visit(base::Overload{
                        [&](const WatchOpened&) -> ReflectorState {
                          return Watching{from.resource_version, from.failures};
                        },
                        [&](const WatchRefused& in) -> ReflectorState {
                          return after_refusal(from.resource_version, from.failures, in.error);
                        },
                        [&](const auto&) -> ReflectorState { return from; },
                    },
                    input);
}

ReflectorState after(const Watching& from, const ReflectorInput& input) {
  return std::visit(base::Overload{
                        [&](const Changed& in) -> ReflectorState {
                          const bool is_named = !in.resource_version.empty();
                          return Watching{is_named ? in.resource_version : from.resource_version, 0, true};
                        },
                        [&](const ServerError& in) -> ReflectorState {
                          return after_refusal(from.resource_version, from.failures, in.error);
                        },
                        [&](const Malformed&) -> ReflectorState { return NeedsList{more(from.failures)}; },
                        [&](const StreamEnded& in) -> ReflectorState {
                          const bool fruitless = in.immediately && !from.progressed;
                          return MustWatch{from.resource_version, fruitless ? more(from.failures) : 0};
                        },
                        [&](const auto&) -> ReflectorState { return from; },
                    },
                    input);
}

}  // namespace

ReflectorState next_state(const ReflectorState& from, const ReflectorInput& input) {
  return std::visit([&](const auto& state) { return after(state, input); }, from);
}

int failures_of(const ReflectorState& state) {
  return std::visit([](const auto& each) { return each.failures; }, state);
}

int page_limit(const NeedsList& state, int normal) {
  if (normal <= 0) return normal;  // paging is disabled
  const int scaled = state.page_shift < 0 ? normal >> -state.page_shift : normal << state.page_shift;
  return std::clamp(scaled, std::min(normal, kMinPage), std::max(normal, kMaxPage));
}

base::Duration reflector_backoff(int failures, base::Duration min, base::Duration max, double random) {
  if (failures <= 0) return base::Duration::zero();
  return base::jitter_down_by_half(base::backoff_delay({min, max}, failures), random);
}

}  // namespace kube
