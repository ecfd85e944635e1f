#include "simulator/operators/pod_restarter.hpp"

#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/keyed_actor.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/text.hpp"

namespace simulator {
namespace {

using api::Json;

class PodRestarter final : public KeyedActor<api::ObjectKey> {
 public:
  PodRestarter(Store& store, RollMark mark) : KeyedActor(store), mark_(mark) {
    journal_.on_reset([this] {
      marked_.clear();
      agenda_.clear();
    });
    journal_.follow(kube::kPods, [this](const Change& change) { on_pod(change); });
  }

  std::string_view name() const override { return mark_.actor; }

 private:
  struct Intention {
    bool rolls = true;
    std::optional<base::Duration> after;  ///< nullopt if it never acts
  };

  Intention intention_of(const Json& pod) const {
    const std::string text = api::text_at(pod, {"metadata", "annotations", mark_.script});
    if (text == "never" || text == "silent") return {false, std::nullopt};
    const auto [word, time] = split_pair(text, '=');
    return {word != "drop" && word != "fail", behaviour::parse_duration(time).value_or(mark_.after)};
  }

  bool is_marked(const Json& pod) const {
    if (!behaviour::is_set(pod, mark_.annotation) || is_terminating(pod)) return false;
    if (mark_.takes_part && !mark_.takes_part(pod)) return false;
    return mark_.value.empty() || api::text_at(pod, {"metadata", "annotations", mark_.annotation}) == mark_.value;
  }

  void on_pod(const Change& change) {
    const bool marked = change.kind != ChangeKind::kDeleted && is_marked(*change.object);
    const auto known = marked_.find(change.key);
    if (known != marked_.end() && marked && known->second == uid_of(*change.object)) return;
    marked_.erase(change.key);
    agenda_.drop(change.key);
    if (!marked) return;
    marked_[change.key] = uid_of(*change.object);
    if (const auto after = intention_of(*change.object).after) agenda_.set(change.key, now_ + *after);
  }

  bool process(const api::ObjectKey& key, base::TimePoint) override {
    const auto known = marked_.find(key);
    const Object pod = store_.get(kube::kPods, key);
    if (known == marked_.end() || !pod || uid_of(*pod) != known->second) return false;
    if (intention_of(*pod).rolls) return store_.remove(kube::kPods, key, {known->second, ""}).ok();
    return store_.edit(kube::kPods, key, Part::kMain, "", [&](Json& edited) {
      object_in(object_in(edited, "metadata"), "annotations").erase(std::string(mark_.annotation));
    }) != nullptr;
  }

  const RollMark mark_;
  std::map<api::ObjectKey, std::string> marked_;  // with the UID
};

}  // namespace

std::unique_ptr<Actor> make_pod_restarter(Store& store, RollMark mark) {
  return std::make_unique<PodRestarter>(store, mark);
}

bool set_pod_annotation(Store& store, const api::ObjectKey& key, const std::string& uid, std::string_view annotation,
                        std::string_view value) {
  return store.edit(kube::kPods, key, Part::kMain, uid, [&](Json& edited) {
    object_in(object_in(edited, "metadata"), "annotations")[std::string(annotation)] = value;
  }) != nullptr;
}

}  // namespace simulator
