#include "api/gang.hpp"

#include <charconv>

#include "api/meta/well_known.hpp"

namespace api {
namespace {

namespace names = well_known;

constexpr std::size_t kMaxGangName = 253;
constexpr std::int32_t kLeaderOrder = 1;

std::optional<std::string> declared(const Pod& pod) {
  for (const StringMap* map : {&pod.meta.annotations, &pod.meta.labels}) {
    if (const std::string* name = map->find(names::kGangKey)) return name->substr(0, kMaxGangName);
  }
  return std::nullopt;
}

std::optional<Gang> of_leader_worker_set(const Pod& pod) {
  const std::string& set = pod.meta.labels.value(names::kLwsName);
  if (set.empty()) return std::nullopt;
  const std::string& index = pod.meta.labels.value(names::kLwsGroupIndex);
  const bool leader = pod.meta.labels.value(names::kLwsWorkerIndex) == "0";
  return Gang{"LeaderWorkerSet/" + set + "/" + (index.empty() ? "0" : index), leader ? kLeaderOrder : 0};
}

std::optional<Gang> of_indexed_job(const Pod& pod) {
  const OwnerReference* owner = pod.meta.controller();
  if (!owner || owner->kind != "Job") return std::nullopt;
  const bool indexed =
      pod.meta.annotations.contains(names::kCompletionIndex) || pod.meta.labels.contains(names::kCompletionIndex);
  return indexed ? std::optional(Gang{"Job/" + owner->name}) : std::nullopt;
}

/// Anything but a whole number counts as not stated.
std::optional<std::int32_t> stated_order(const Pod& pod) {
  const std::string& text = pod.meta.annotations.value(names::kGangOrder);
  std::int32_t order = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), order);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size() ? std::optional(order)
                                                                                   : std::nullopt;
}

}  // namespace

std::optional<Gang> gang_of(const Pod& pod) {
  std::optional<Gang> gang;
  if (auto name = declared(pod)) {
    if (name->empty()) return std::nullopt;
    gang = Gang{*std::move(name)};
  } else if (gang = of_leader_worker_set(pod); !gang) {
    gang = of_indexed_job(pod);
  }
  if (!gang) return std::nullopt;
  if (const auto order = stated_order(pod)) gang->order = *order;
  return gang;
}

bool may_tell_gang(const StringMap& labels_or_annotations) {
  const auto has = [&](std::string_view key) { return labels_or_annotations.contains(key); };
  return has(names::kGangKey) || has(names::kLwsName) || has(names::kCompletionIndex);
}

bool counts_in_gang(const Pod& pod) { return !pod.is_terminal() && !pod.meta.is_terminating(); }

}  // namespace api
