#include "controllers/webhooks/placement/affinity_patch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/core/placement_hint.hpp"
#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"

namespace controllers::placement {
namespace {

using api::Json;

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kNodeAffinity = "/spec/affinity/nodeAffinity";

Json add(std::string path, Json value) {
  return {{"op", "add"}, {"path", std::move(path)}, {"value", std::move(value)}};
}

bool is_absent(const Json* value) { return value == nullptr || value->is_null(); }

Json requirement_of(const std::string& node) {
  return {{"key", "metadata.name"}, {"operator", "In"}, {"values", Json::array({node})}};
}
Json term_of(const std::string& node) { return {{"matchFields", Json::array({requirement_of(node)})}}; }

/// Adds `value` as member `name` of the pod's node affinity, and creates missing parents.
Json add_to_node_affinity(const Json& pod, const char* name, Json value) {
  if (is_absent(api::find_at(pod, {"spec", "affinity"})))
    return add("/spec/affinity", {{"nodeAffinity", {{name, std::move(value)}}}});
  if (is_absent(api::find_at(pod, {"spec", "affinity", "nodeAffinity"})))
    return add(kNodeAffinity, {{name, std::move(value)}});
  return add(fmt::format("{}/{}", kNodeAffinity, name), std::move(value));
}

/// An empty term matches no node. Adding a requirement would make it match one.
bool matches_something(const Json& term) {
  return !api::items_at(term, {"matchExpressions"}).empty() || !api::items_at(term, {"matchFields"}).empty();
}

bool takes_a_field(const Json& term) {
  const Json* fields = api::find_at(term, {"matchFields"});
  return is_absent(fields) || fields->is_array();
}

Json narrow_term(std::size_t index, const Json& term, const std::string& node) {
  const std::string path = fmt::format("{}/{}/nodeSelectorTerms/{}/matchFields", kNodeAffinity, kRequired, index);
  if (is_absent(api::find_at(term, {"matchFields"}))) return add(path, Json::array({requirement_of(node)}));
  return add(path + "/-", requirement_of(node));
}

Json require(const Json& pod, const std::string& node) {
  const Json* required = api::find_at(pod, {"spec", "affinity", "nodeAffinity", kRequired});
  Json patch = Json::array();
  if (is_absent(required)) {
    patch.push_back(add_to_node_affinity(pod, kRequired, {{"nodeSelectorTerms", Json::array({term_of(node)})}}));
    return patch;
  }
  const Json& terms = api::items_at(*required, {"nodeSelectorTerms"});
  if (terms.size() > kMaxNodeTerms || !std::ranges::all_of(terms, takes_a_field)) return Json::array();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (matches_something(terms[i])) patch.push_back(narrow_term(i, terms[i], node));
  }
  return patch;
}

Json prefer(const Json& pod, const std::string& node) {
  const Json preferred = {{"weight", api::kPlacementHintWeight}, {"preference", term_of(node)}};
  const Json* known = api::find_at(pod, {"spec", "affinity", "nodeAffinity", kPreferred});
  if (is_absent(known)) return Json::array({add_to_node_affinity(pod, kPreferred, Json::array({preferred}))});
  if (!known->is_array()) return Json::array();
  return Json::array({add(fmt::format("{}/{}/-", kNodeAffinity, kPreferred), preferred)});
}

Json annotate(const Json& pod, std::string_view mark) {
  const std::string key(api::well_known::kPlacementAnnotation);
  if (is_absent(api::find_at(pod, {"metadata", "annotations"}))) return add("/metadata/annotations", {{key, mark}});
  return add("/metadata/annotations/evacuator.dev~1placement", mark);
}

/// Returns whether the annotations fit after ours is added or replaces an older value.
bool has_space_for(std::string_view mark, const Json& pod) {
  const std::string_view ours = api::well_known::kPlacementAnnotation;
  std::size_t bytes = ours.size() + mark.size();
  const Json* known = api::find_at(pod, {"metadata", "annotations"});
  if (is_absent(known)) return true;
  for (const auto& [key, value] : known->items()) {
    if (key != ours && value.is_string()) bytes += key.size() + value.get_ref<const std::string&>().size();
  }
  return bytes <= kMaxAnnotationBytes;
}

/// Returns whether everything on the patch's paths is absent or an object.
bool has_sound_shape(const Json& pod) {
  const auto is_object = [&](std::initializer_list<std::string_view> path) {
    const Json* value = api::find_at(pod, path);
    return is_absent(value) || value->is_object();
  };
  const auto has_object = [&](const char* name) { return pod.contains(name) && pod[name].is_object(); };
  return has_object("spec") && has_object("metadata") && is_object({"metadata", "annotations"}) &&
         is_object({"spec", "affinity"}) && is_object({"spec", "affinity", "nodeAffinity"}) &&
         is_object({"spec", "affinity", "nodeAffinity", kRequired});
}

}  // namespace

Json hint_patch(const Json& pod, const api::PlacementHint& hint, std::string_view mark) {
  if (!has_sound_shape(pod) || !has_space_for(mark, pod) || !api::text_at(pod, {"spec", "nodeName"}).empty())
    return Json::array();
  const std::string& node = hint.node_name.value;
  Json patch = hint.policy == api::PlacementPolicy::kRequired ? require(pod, node) : prefer(pod, node);
  if (!patch.empty()) patch.push_back(annotate(pod, mark));
  return patch;
}

}  // namespace controllers::placement
