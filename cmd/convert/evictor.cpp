/// Converts DefaultEvictor's args (upstream-semantics.md#default-evictor-args) to spec.evictability.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "api/core/selector_codec.hpp"
#include "api/meta/selector_text.hpp"
#include "cmd/convert/parts.hpp"

namespace convert {

namespace {

/// Requirements of a selector, sorted, each with sorted values.
using Requirements = std::vector<Json>;

Json requirement_of(const Json& key, const Json& op, Json values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return {{"key", key}, {"operator", op}, {"values", std::move(values)}};
}

bool is_expression(const Json& json) {
  if (!json.is_object() || !json.contains("key") || !json.contains("operator")) return false;
  const auto values = json.find("values");
  if (json.size() > (values == json.end() ? 2U : 3U)) return false;
  return json["key"].is_string() && json["operator"].is_string() && (values == json.end() || values->is_array());
}

/// nullopt: the selector has a wrong form.
std::optional<Requirements> requirements_of(const Json& selector) {
  if (!selector.is_object()) return std::nullopt;
  Requirements all;
  for (const auto& [part, value] : selector.items()) {
    if (part == "matchLabels" && value.is_object()) {
      for (const auto& [key, label] : value.items()) {
        if (!label.is_string()) return std::nullopt;
        all.push_back(requirement_of(key, "In", Json::array({label})));
      }
    } else if (part == "matchExpressions" && value.is_array() && std::ranges::all_of(value, is_expression)) {
      for (const Json& each : value)
        all.push_back(requirement_of(each["key"], each["operator"], each.value("values", Json::array())));
    } else if (!value.is_null()) {
      return std::nullopt;
    }
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Requirements for what `a` or `b` select; nullopt: one selector cannot have them.
std::optional<Requirements> joined(const Requirements& a, const Requirements& b) {
  if (std::ranges::includes(b, a)) return a;
  if (std::ranges::includes(a, b)) return b;
  Requirements common;
  Requirements only_a;
  Requirements only_b;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  std::ranges::set_difference(a, b, std::back_inserter(only_a));
  std::ranges::set_difference(b, a, std::back_inserter(only_b));
  if (only_a.size() != 1 || only_b.size() != 1) return std::nullopt;
  const Json& one = only_a.front();
  const Json& other = only_b.front();
  if (one["operator"] != "In" || other["operator"] != "In" || one["key"] != other["key"]) return std::nullopt;
  Json values = one["values"];
  values.insert(values.end(), other["values"].begin(), other["values"].end());
  common.push_back(requirement_of(one["key"], "In", std::move(values)));
  std::ranges::sort(common);
  return common;
}

Json selector_of(const Requirements& requirements) {
  Json selector = Json::object();
  for (const Json& each : requirements) {
    const bool is_label = each["operator"] == "In" && each["values"].size() == 1;
    if (is_label && selector["matchLabels"].emplace(each["key"].get<std::string>(), each["values"][0]).second) continue;
    Json expression = each;
    if (expression["values"].empty()) expression.erase("values");
    selector["matchExpressions"].push_back(std::move(expression));
  }
  return selector;
}

struct EitherPart {
  EitherSelector selector;
  std::optional<Requirements> requirements;
};

/// Joins the first two that can be; false: none can.
bool join_two(std::vector<EitherPart>& parts) {
  for (auto a = parts.begin(); a != parts.end(); ++a) {
    for (auto b = a + 1; a->requirements && b != parts.end(); ++b) {
      auto both = b->requirements ? joined(*a->requirements, *b->requirements) : std::nullopt;
      if (!both) continue;
      if (*both == *b->requirements) {
        *a = std::move(*b);
      } else if (*both != *a->requirements) {
        a->selector.selector = selector_of(*both);
        a->selector.is_joined = true;
        a->requirements = std::move(both);
      }
      parts.erase(b);
      return true;
    }
  }
  return false;
}

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
      args.complain(each.name, "the deprecated booleans and the lists of podProtections are mutually exclusive");
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
void read_min_pod_age(StrictObject& args, Json& evictability, ConversionContext& bench) {
  std::optional<base::Duration> age;
  args.read_duration("minPodAge", age);
  if (!age) return;
  if (*age > base::Duration::zero()) {
    evictability["minPodAge"] = *args.find("minPodAge");
  } else {
    evictability["minPodAge"] = "1us";
    bench.note(NoteKind::kChanged, args.path().field("minPodAge"),
               "keeps only pods that have not started: 1us, the minimum, has the same effect");
  }
}

}  // namespace

void put_selector_text(const Json* text, const FieldPath& at, Json& to, const char* name, ConversionContext& bench) {
  if (text == nullptr) return;
  if (!text->is_string()) return bench.error(at, fmt::format("must be a string, not {}", kind_of(*text)));
  const auto selector = api::parse_selector_text(text->get_ref<const std::string&>());
  if (!selector) return bench.error(at, selector.error().message);
  if (!selector->requirements.empty()) to[name] = api::encode_label_selector(*selector);
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

std::vector<EitherSelector> either_selectors(std::vector<Json> selectors) {
  constexpr std::size_t kMaxJoined = 256;  // the effort grows with the cube of their number
  std::vector<EitherPart> parts;
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    auto requirements = i < kMaxJoined ? requirements_of(selectors[i]) : std::nullopt;
    parts.push_back({{std::move(selectors[i]), i, false}, std::move(requirements)});
  }
  while (join_two(parts)) {
  }
  std::vector<EitherSelector> result;
  for (EitherPart& part : parts) result.push_back(std::move(part.selector));
  return result;
}

void read_evictor_args(const Json& json, const FieldPath& at, Draft& draft, ConversionContext& bench) {
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

}  // namespace convert
