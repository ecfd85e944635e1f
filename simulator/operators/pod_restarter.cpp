#include "simulator/operators/pod_restarter.hpp"

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

struct RollIntention {
  bool rolls = true;
  std::optional<base::Duration> after;  ///< nullopt if it never acts
};

RollIntention roll_intention(const Json& pod, base::Duration usual) {
  const std::string text = api::text_at(pod, {"metadata", "annotations", behaviour::kRoll});
  if (text == "never") return {false, std::nullopt};
  const auto at = text.find('=');
  RollIntention intention{text.substr(0, at) != "drop", usual};
  if (at != std::string::npos) intention.after = behaviour::parse_duration(text.substr(at + 1)).value_or(usual);
  return intention;
}

}  // namespace

bool set_pod_annotation(Store& store, const api::ObjectKey& key, const std::string& uid, std::string_view annotation,
                        std::string_view value) {
  return store
      .mutate(kube::kPods, key, Part::kMain,
              [&](Json& edited) -> base::Status {
                if (uid_of(edited) != uid) return base::Error{base::ErrorCode::kConflict, "another pod"};
                object_in(object_in(edited, "metadata"), "annotations")[std::string(annotation)] = value;
                return base::Done{};
              })
      .ok();
}

PodRestarter::PodRestarter(Store& store, RollMark mark) : store_(store), mark_(mark), journal_(store) {
  journal_.on_reset([this] {
    marked_.clear();
    agenda_.clear();
  });
  journal_.follow(kube::kPods, [this](const Change& change) { on_pod(change); });
}

bool PodRestarter::tick(base::TimePoint now) {
  now_ = now;
  journal_.poll();
  bool changed = false;
  for (const api::ObjectKey& key : agenda_.take_due(now)) changed = finish(key) || changed;
  return changed;
}

void PodRestarter::on_pod(const Change& change) {
  const bool marked = change.kind != ChangeKind::kDeleted && !is_terminating(*change.object) &&
                      api::text_at(*change.object, {"metadata", "annotations", mark_.annotation}) == mark_.value;
  const auto known = marked_.find(change.key);
  if (known != marked_.end() && marked && known->second == uid_of(*change.object)) return;
  marked_.erase(change.key);
  agenda_.drop(change.key);
  if (!marked) return;
  marked_[change.key] = uid_of(*change.object);
  if (const auto after = roll_intention(*change.object, mark_.after).after) agenda_.set(change.key, now_ + *after);
}

bool PodRestarter::finish(const api::ObjectKey& key) {
  const auto known = marked_.find(key);
  const Object pod = store_.get(kube::kPods, key);
  if (known == marked_.end() || !pod || uid_of(*pod) != known->second) return false;
  if (roll_intention(*pod, mark_.after).rolls) return store_.remove(kube::kPods, key, {known->second, ""}).ok();
  return store_
      .mutate(kube::kPods, key, Part::kMain,
              [&](Json& edited) -> base::Status {
                object_in(object_in(edited, "metadata"), "annotations").erase(std::string(mark_.annotation));
                return base::Done{};
              })
      .ok();
}

}  // namespace simulator
