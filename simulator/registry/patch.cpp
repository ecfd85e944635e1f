#include "simulator/registry/patch.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/text.hpp"
#include "simulator/text.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr std::size_t kMaxOperations = 10'000;  // same limit as the API server
constexpr std::size_t kMaxCopied = 3 << 20;  // total bytes that `copy` operations may add; prevents exponential growth
constexpr int kMaxPatchDepth = 100;          // exceeds any object; prevents stack overflow by malicious patches

// --- RFC 6902

using Pointer = std::vector<std::string>;

std::optional<Pointer> parse_pointer(std::string_view text) {
  Pointer pointer;
  if (text.empty()) return pointer;
  if (text.front() != '/') return std::nullopt;
  std::string token;
  for (std::size_t i = 1; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == '/') {
      pointer.push_back(std::move(token));
      token.clear();
    } else if (text[i] == '~' && i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1')) {
      token += text[++i] == '0' ? '~' : '/';
    } else {
      token += text[i];
    }
  }
  return pointer;
}

/// Returns the array index of `token` in an array of `size`; "-" is one past the end.
std::optional<std::size_t> array_index(const std::string& token, std::size_t size) {
  return token == "-" ? size : base::parse_number<std::size_t>(token);
}

Json* child_of(Json& parent, const std::string& token) {
  if (parent.is_object()) {
    const auto found = parent.find(token);
    return found == parent.end() ? nullptr : &*found;
  }
  if (!parent.is_array()) return nullptr;
  const auto index = array_index(token, parent.size());
  return index && *index < parent.size() ? &parent[*index] : nullptr;
}

Json* resolve(Json& root, const Pointer& pointer, std::size_t depth) {
  Json* at = &root;
  for (std::size_t i = 0; at && i < depth; ++i) at = child_of(*at, pointer[i]);
  return at;
}

bool add_at(Json& root, const Pointer& pointer, Json value, bool replace) {
  if (pointer.empty()) {
    root = std::move(value);
    return true;
  }
  Json* parent = resolve(root, pointer, pointer.size() - 1);
  if (!parent) return false;
  if (parent->is_object()) {
    (*parent)[pointer.back()] = std::move(value);
    return true;
  }
  if (!parent->is_array()) return false;
  const auto index = array_index(pointer.back(), parent->size());
  if (!index || *index > parent->size() || (replace && *index == parent->size())) return false;
  if (replace) {
    (*parent)[*index] = std::move(value);
  } else {
    parent->insert(parent->begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  }
  return true;
}

bool remove_at(Json& root, const Pointer& pointer) {
  if (pointer.empty()) return false;
  Json* parent = resolve(root, pointer, pointer.size() - 1);
  if (!parent || !child_of(*parent, pointer.back())) return false;
  if (parent->is_object()) {
    parent->erase(pointer.back());
  } else {
    parent->erase(*array_index(pointer.back(), parent->size()));
  }
  return true;
}

/// Performs one operation. Returns nullopt if it is malformed, false if it cannot be applied.
std::optional<bool> run_operation(Json& root, const Json& operation, std::size_t& copied) {
  const std::string op = api::text_at(operation, {"op"});
  const Json* path_text = api::find_at(operation, {"path"});
  if (!path_text || !path_text->is_string()) return std::nullopt;
  const auto path = parse_pointer(path_text->get_ref<const std::string&>());
  if (!path) return false;
  if (op == "remove") return remove_at(root, *path);
  if (op == "move" || op == "copy") {
    const auto from = parse_pointer(api::text_at(operation, {"from"}));
    const Json* source = from ? resolve(root, *from, from->size()) : nullptr;
    if (!source) return false;
    Json value = *source;
    if (op == "copy") copied += api::to_json_text(value).size();
    if (copied > kMaxCopied || api::is_nested_deeper(value, kMaxPatchDepth)) return false;
    if (op == "move" && !remove_at(root, *from)) return false;
    return add_at(root, *path, std::move(value), false);
  }
  const Json* value = api::find_at(operation, {"value"});
  if (op == "test") {
    const Json* found = resolve(root, *path, path->size());
    const bool wants_nothing = !value || value->is_null();
    return found ? (value ? *found == *value : found->is_null()) : wants_nothing;
  }
  if (op != "add" && op != "replace") return std::nullopt;
  return add_at(root, *path, value ? *value : Json(nullptr), op == "replace");
}

// --- strategic merge

struct MergeKey {
  std::string_view field;
  std::string_view key;
  std::string_view parent;  ///< if empty, matches under any parent
};

/// Merge keys from the patchMergeKey tags of Kubernetes' API types.
constexpr MergeKey kMergeKeys[] = {
    {"ports", "port", "spec"},  // for a Service; the next entry is for containers
    {"ports", "containerPort", ""},
    {"containers", "name", ""},
    {"initContainers", "name", ""},
    {"ephemeralContainers", "name", ""},
    {"env", "name", ""},
    {"volumeMounts", "mountPath", ""},
    {"volumeDevices", "devicePath", ""},
    {"volumes", "name", ""},
    {"imagePullSecrets", "name", ""},
    {"secrets", "name", ""},
    {"hostAliases", "ip", ""},
    {"topologySpreadConstraints", "topologyKey", ""},
    {"resourceClaims", "name", ""},
    {"schedulingGates", "name", ""},
    {"podIPs", "ip", ""},
    {"conditions", "type", ""},
    {"addresses", "type", ""},
    {"taints", "key", ""},
    {"ownerReferences", "uid", ""},
    {"webhooks", "name", ""},
};

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kElementOrder = "$setElementOrder/";
constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList/";

bool contains_value(const Json& array, const Json& value) { return std::ranges::find(array, value) != array.end(); }

/// Returns the value of a patch for a member that did not exist: the patch without directives.
Json without_directives(const Json& patch, int depth) {
  if (depth > kMaxPatchDepth || patch.is_primitive()) return patch;
  if (patch.is_array()) {
    Json clean = Json::array();
    for (const Json& item : patch) {
      if (item.is_object() && item.contains(kDirective)) continue;
      clean.push_back(without_directives(item, depth + 1));
    }
    return clean;
  }
  Json clean = Json::object();
  for (const auto& [name, value] : patch.items()) {
    if (name.starts_with('$') || value.is_null()) continue;
    clean[name] = without_directives(value, depth + 1);
  }
  return clean;
}

Json merge_maps(const Json& original, const Json& patch, std::string_view parent, int depth);

Json* find_by_key(Json& list, std::string_view key, const Json& value) {
  for (Json& item : list) {
    if (item.is_object() && item.contains(key) && item[std::string(key)] == value) return &item;
  }
  return nullptr;
}

Json merge_keyed_list(const Json& original, const Json& patch, std::string_view key, std::string_view field,
                      int depth) {
  Json merged = original;
  for (const Json& item : patch) {
    if (!item.is_object()) continue;
    const std::string directive = api::text_at(item, {kDirective});
    if (directive == "replace") return without_directives(patch, depth);
    const auto id = item.find(key);
    if (id == item.end()) continue;
    Json* known = find_by_key(merged, key, *id);
    if (directive == "delete") {
      std::erase_if(merged.get_ref<Json::array_t&>(), [&](const Json& old) { return &old == known; });
    } else if (known) {
      *known = merge_maps(*known, item, field, depth + 1);
    } else {
      merged.push_back(without_directives(item, depth));
    }
  }
  return merged;
}

Json merge_sets(const Json& original, const Json& patch) {
  Json merged = original;
  for (const Json& value : patch) {
    if (!contains_value(merged, value)) merged.push_back(value);
  }
  return merged;
}

/// Sorts `list` in the client's order. Elements known only to the server keep their relative position.
Json in_order(const Json& list, const Json& order, const Json& server, std::string_view key) {
  const auto position = [&](const Json& item, const Json& in) {
    const auto same = [&](const Json& other) {
      if (key.empty()) return other == item;
      return other.is_object() && item.is_object() && other.contains(key) && item.contains(key) &&
             other.at(std::string(key)) == item.at(std::string(key));
    };
    return std::ranges::find_if(in, same) - in.begin();
  };
  const auto end_of_order = static_cast<std::ptrdiff_t>(order.size());
  const auto end_of_server = static_cast<std::ptrdiff_t>(server.size());
  std::vector<Json> listed, others;
  for (const Json& item : list) (position(item, order) < end_of_order ? listed : others).push_back(item);
  std::ranges::stable_sort(listed, {}, [&](const Json& item) { return position(item, order); });

  Json sorted = Json::array();
  std::size_t next = 0;
  for (const Json& item : listed) {
    const auto at = position(item, server);
    while (at < end_of_server && next < others.size() && position(others[next], server) < at)
      sorted.push_back(others[next++]);
    sorted.push_back(item);
  }
  while (next < others.size()) sorted.push_back(others[next++]);
  return sorted;
}

Json merge_lists(const Json& original, const Json& patch, std::string_view parent, const std::string& field,
                 int depth) {
  if (merges_as_set(field)) return merge_sets(original, patch);
  const std::string_view key = merge_key(parent, field);
  if (key.empty()) return without_directives(patch, depth);
  return merge_keyed_list(original, patch, key, field, depth);
}

void merge_member(Json& merged, const std::string& name, const Json& value, std::string_view parent, int depth) {
  if (value.is_null()) {
    merged.erase(name);
    return;
  }
  const auto found = merged.find(name);
  if (found == merged.end() || found->type() != value.type()) {
    merged[name] = without_directives(value, depth);
  } else if (value.is_object()) {
    *found = merge_maps(*found, value, name, depth + 1);
  } else if (value.is_array()) {
    *found = merge_lists(*found, value, parent, name, depth);
  } else {
    *found = value;
  }
}

void retain_keys(Json& merged, const Json& keys) {
  for (auto at = merged.begin(); at != merged.end();)
    at = contains_value(keys, at.key()) ? std::next(at) : merged.erase(at);
}

Json merge_maps(const Json& original, const Json& patch, std::string_view parent, int depth) {
  if (depth > kMaxPatchDepth) return original;
  const std::string directive = api::text_at(patch, {kDirective});
  if (directive == "replace") return without_directives(patch, depth);
  if (directive == "delete") return Json::object();
  Json merged = original;
  if (const Json* keys = api::find_at(patch, {kRetainKeys}); keys && keys->is_array()) retain_keys(merged, *keys);
  for (const auto& [name, value] : patch.items()) {
    if (name.starts_with(kDeleteFromList)) {
      const auto list = merged.find(name.substr(kDeleteFromList.size()));
      if (list != merged.end() && list->is_array() && value.is_array()) {
        std::erase_if(list->get_ref<Json::array_t&>(),
                      [&, &gone = value](const Json& item) { return contains_value(gone, item); });
      }
    } else if (!name.starts_with('$')) {
      merge_member(merged, name, value, parent, depth);
    }
  }
  for (const auto& [name, order] : patch.items()) {
    if (!name.starts_with(kElementOrder) || !order.is_array()) continue;
    const std::string field = name.substr(kElementOrder.size());
    const auto list = merged.find(field);
    if (list == merged.end() || !list->is_array()) continue;
    const Json* before = api::find_at(original, {field});
    *list =
        in_order(*list, order, before && before->is_array() ? *before : Json(Json::array()), merge_key(parent, field));
  }
  return merged;
}

}  // namespace

std::string_view merge_key(std::string_view parent, std::string_view field) {
  for (const MergeKey& known : kMergeKeys) {
    if (known.field == field && (known.parent.empty() || known.parent == parent)) return known.key;
  }
  return {};
}

bool merges_as_set(std::string_view field) { return field == "finalizers" || field == "podCIDRs"; }

Outcome<Json> apply_merge_patch(Json object, const Json& patch) {
  if (!patch.is_object()) return bad_request("the patch is not a JSON object");
  if (api::is_nested_deeper(patch, kMaxPatchDepth)) return bad_request("the patch is nested too deeply");
  object.merge_patch(patch);
  return object;
}

Outcome<Json> apply_json_patch(const Json& object, const Json& patch) {
  if (!patch.is_array()) return bad_request("the patch is not a JSON array of operations");
  if (patch.size() > kMaxOperations) {
    return Failure{
        413, "RequestEntityTooLarge",
        fmt::format("The allowed maximum operations in a JSON patch is {}, got {}", kMaxOperations, patch.size()),
        nullptr};
  }
  if (api::is_nested_deeper(patch, kMaxPatchDepth)) return bad_request("the patch is nested too deeply");
  Json edited = object;
  std::size_t copied = 0;
  for (const Json& operation : patch) {
    const auto applied = run_operation(edited, operation, copied);
    if (!applied)
      return bad_request("Unexpected kind of operation in the JSON patch: " + api::text_at(operation, {"op"}));
    if (!*applied) return unprocessable_patch();
  }
  if (api::is_nested_deeper(edited, kMaxPatchDepth)) return unprocessable_patch();
  return edited;
}

Outcome<Json> apply_strategic_merge(const Json& object, const Json& patch) {
  if (!patch.is_object()) return bad_request("the patch is not a JSON object");
  if (api::is_nested_deeper(patch, kMaxPatchDepth)) return bad_request("the patch is nested too deeply");
  return merge_maps(object, patch, "", 0);
}

}  // namespace simulator
