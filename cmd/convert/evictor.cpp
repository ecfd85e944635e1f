/// Converts DefaultEvictor's args (upstream-semantics.md#default-evictor-args) to spec.evictability.

#include <fmt/format.h>

#include <array>

#include "api/core/selector_codec.hpp"
#include "api/meta/selector_text.hpp"
#include "cmd/convert/parts.hpp"

namespace api::upstream {

void put_selector_text(const Json* text, const FieldPath& at, Json& to, const char* name, Workbench& bench) {
  if (text == nullptr) return;
  if (!text->is_string()) return bench.error(at, fmt::format("must be a string, not {}", kind_of(*text)));
  const auto selector = parse_selector_text(text->get_ref<const std::string&>());
  if (!selector) return bench.error(at, selector.error().message);
  if (!selector->requirements.empty()) to[name] = encode_label_selector(*selector);
}

Json both_selectors(Json one, Json other) {
  const auto is_selector = [](Json& json) {
    if (!json.is_object()) return false;
    for (const char* part : {"matchLabels", "matchExpressions"}) {
      if (json.contains(part) && json[part].is_null()) json.erase(part);
    }
    return (!json.contains("matchLabels") || json["matchLabels"].is_object()) &&
           (!json.contains("matchExpressions") || json["matchExpressions"].is_array());
  };
  if (!is_selector(one)) return one;  // validation reports it
  if (!is_selector(other) || one.empty() || one == other) return other;
  for (const Json& each : other.value("matchExpressions", Json::array())) one["matchExpressions"].push_back(each);
  const Json labels = other.value("matchLabels", Json::object());
  for (const auto& [key, value] : labels.items()) {
    const auto [at, is_new] = one["matchLabels"].emplace(key, value);
    if (!is_new && *at != value)
      one["matchExpressions"].push_back({{"key", key}, {"operator", "In"}, {"values", Json::array({value})}});
  }
  return one;
}

namespace {

struct ProtectionSwitch {
  const char* name;
  const char* list;
  const char* protection;
};
/// Deprecated booleans and the protections they correspond to.
constexpr std::array kProtectionSwitches = {
    ProtectionSwitch{"evictLocalStoragePods", "defaultDisabled", "PodsWithLocalStorage"},
    ProtectionSwitch{"evictSystemCriticalPods", "defaultDisabled", "SystemCriticalPods"},
    ProtectionSwitch{"evictFailedBarePods", "defaultDisabled", "FailedBarePods"},
    ProtectionSwitch{"evictDaemonSetPods", "defaultDisabled", "DaemonSetPods"},
    ProtectionSwitch{"ignorePvcPods", "extraEnabled", "PodsWithPVC"},
    ProtectionSwitch{"ignorePodsWithoutPDB", "extraEnabled", "PodsWithoutPDB"},
};

bool names_some(const Json& protections, const char* list) {
  return protections.is_object() && protections.contains(list) && !protections[list].empty();
}

void read_protection_switches(StrictObject& args, Json& evictability) {
  const Json written = evictability.contains("podProtections") ? evictability["podProtections"] : Json::object();
  const bool has_lists = names_some(written, "defaultDisabled") || names_some(written, "extraEnabled");
  for (const ProtectionSwitch& each : kProtectionSwitches) {
    bool on = false;
    args.read(each.name, on);
    if (!on) continue;
    if (has_lists) {
      args.complain(each.name, "the deprecated booleans and the lists of podProtections exclude each other");
    } else if (!evictability.contains("podProtections") || evictability["podProtections"].is_object()) {
      evictability["podProtections"][each.list].push_back(each.protection);
    }
  }
}

/// Returns true for {} and for Go's encoding of an empty threshold.
bool is_no_threshold(const Json& threshold) {
  if (!threshold.is_object()) return false;
  for (const auto& [name, value] : threshold.items()) {
    if (!value.is_null() && !(name == "name" && value == "")) return false;
  }
  return true;
}

/// Reads minPodAge. Even an age of 0 requires a started pod: status.startTime must be set and must not be in the
/// future.
void read_min_pod_age(StrictObject& args, Json& evictability, Workbench& bench) {
  std::optional<base::Duration> age;
  args.read_duration("minPodAge", age);
  if (!age) return;
  if (*age > base::Duration::zero()) {
    evictability["minPodAge"] = *args.find("minPodAge");
  } else {
    evictability["minPodAge"] = "1us";
    bench.note(NoteKind::kChanged, args.path().field("minPodAge"),
               "keeps only pods that have not started: 1us, the shortest, does the same");
  }
}

}  // namespace

void read_evictor_args(const Json& json, const FieldPath& at, Draft& draft, Workbench& bench) {
  StrictObject args(json, at, bench.errors());
  Json evictability = Json::object();
  for (const char* same : {"labelSelector", "namespaceLabelSelector", "nodeFit", "minReplicas", "noEvictionPolicy",
                           "podProtections", "priorityThreshold"}) {
    if (const Json* value = args.find(same)) evictability[same] = *value;
  }
  if (evictability.value("noEvictionPolicy", Json()) == "") evictability.erase("noEvictionPolicy");
  if (evictability.contains("priorityThreshold") && is_no_threshold(evictability["priorityThreshold"])) {
    evictability.erase("priorityThreshold");
  }
  put_selector_text(args.find("nodeSelector"), at.field("nodeSelector"), evictability, "nodeSelector", bench);
  read_min_pod_age(args, evictability, bench);
  read_protection_switches(args, evictability);
  for (const char* of_type : {"apiVersion", "kind"}) args.find(of_type);
  args.finish();
  draft.origins.push_back({"spec.evictability", at.text()});
  if (!evictability.empty()) draft.spec["evictability"] = std::move(evictability);
}

}  // namespace api::upstream
