#include "simulator/registry/managed_fields.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/json/json_access.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/registry/patch.hpp"

namespace simulator {
namespace {

using api::Json;

/// Path of a field in the notation of fieldsV1: "f:spec", "f:conditions", "k:{\"type\":\"Ready\"}", "f:status". A path
/// that ends in "k:…" denotes the list item itself.
using FieldName = std::vector<std::string>;
using FieldSet = std::set<FieldName>;

struct ManagerKey {
  std::string manager;
  std::string operation;
  std::string subresource;
  friend auto operator<=>(const ManagerKey&, const ManagerKey&) = default;
};
struct Managed {
  std::string api_version;
  std::string time;
  FieldSet fields;
  const Json* entry = nullptr;  ///< entry in the object, nullptr once `fields` differs from it
};
using Managers = std::map<ManagerKey, Managed>;

/// How a list merges. A list that has no keys and is not a set is atomic.
struct ListShape {
  bool is_set = false;
  std::vector<std::string> keys;
};

/// Merge behavior at a position in an object: follows the schema (custom kinds) or the merge keys (built-in kinds).
/// References the names it is built from.
class Shape {
 public:
  static Shape root(const ServedResource& resource) {
    if (resource.custom)
      return Shape(resource.custom->schema.is_object() ? &resource.custom->schema : nullptr, true, "", "");
    return Shape(nullptr, false, "", "");
  }

  Shape field(std::string_view name) const {
    const Json* properties = schema_ ? api::find_at(*schema_, {"properties", name}) : nullptr;
    if (schema_ && !properties) {
      const Json* others = api::find_at(*schema_, {"additionalProperties"});
      properties = others && others->is_object() ? others : nullptr;
    }
    return Shape(properties, custom_, name_, name);
  }
  Shape item() const { return Shape(schema_ ? api::find_at(*schema_, {"items"}) : nullptr, custom_, parent_, name_); }
  bool atomic_map() const { return schema_ && api::text_at(*schema_, {"x-kubernetes-map-type"}) == "atomic"; }

  ListShape list() const {
    if (name_ == "finalizers") return {true, {}};
    if (name_ == "ownerReferences") return {false, {"uid"}};
    if (!custom_) {
      if (merges_as_set(name_)) return {true, {}};
      const std::string_view key = merge_key(parent_, name_);
      return key.empty() ? ListShape{} : ListShape{false, {std::string(key)}};
    }
    const std::string type = schema_ ? api::text_at(*schema_, {"x-kubernetes-list-type"}) : "";
    if (type == "set") return {true, {}};
    if (type != "map") return {};
    return {false, strings_at(*schema_, {"x-kubernetes-list-map-keys"})};
  }

 private:
  Shape(const Json* schema, bool custom, std::string_view parent, std::string_view name)
      : schema_(schema), custom_(custom), parent_(parent), name_(name) {}

  const Json* schema_;
  bool custom_;
  std::string_view parent_;
  std::string_view name_;
};

/// Returns the name of an item of a keyed list or a set in fieldsV1, nullopt if the item lacks a key.
std::optional<std::string> item_name(const Json& item, const ListShape& shape) {
  if (shape.is_set) return "v:" + api::to_json_text(item);
  Json keys = Json::object();
  for (const std::string& key : shape.keys) {
    if (!item.is_object() || !item.contains(key)) return std::nullopt;
    keys[key] = item.at(key);
  }
  return "k:" + api::to_json_text(keys);
}

bool is_server_owned(const FieldName& field) {
  static const std::set<std::string, std::less<>> kMetadata = {
      "f:name",        "f:namespace",     "f:uid",      "f:resourceVersion",   "f:creationTimestamp",
      "f:generation",  "f:managedFields", "f:selfLink", "f:deletionTimestamp", "f:deletionGracePeriodSeconds",
      "f:generateName"};
  if (field.size() == 1) return field[0] == "f:apiVersion" || field[0] == "f:kind";
  return field.size() == 2 && field[0] == "f:metadata" && kMetadata.contains(field[1]);
}

const Json* member_of(const Json* object, std::string_view name) {
  if (!object || !object->is_object()) return nullptr;
  const auto found = object->find(name);
  return found == object->end() ? nullptr : &*found;
}

/// Returns the item of a keyed list or a set with that name in fieldsV1.
const Json* item_called(const Json* array, const ListShape& shape, const std::string& name) {
  if (!array || !array->is_array()) return nullptr;
  const auto found = std::ranges::find_if(*array, [&](const Json& item) { return item_name(item, shape) == name; });
  return found == array->end() ? nullptr : &*found;
}

/// Compares an object with its previous state: collects its fields, and those that are new or changed.
struct ChangedFields {
  FieldSet all;
  FieldSet changed;

  /// `before` is nullptr, or has another type, if there was no previous value.
  void compare(const Json* before, const Json& value, const Shape& shape, FieldName& at) {
    if (is_server_owned(at)) return;
    if (value.is_object() && !value.empty() && !shape.atomic_map()) {
      for (const auto& [name, member] : value.items()) {
        at.push_back("f:" + name);
        compare(member_of(before, name), member, shape.field(name), at);
        at.pop_back();
      }
      return;
    }
    const ListShape list = value.is_array() ? shape.list() : ListShape{};
    if (list.is_set || !list.keys.empty()) return compare_items(before, value, list, shape, at);
    if (!at.empty()) note(at, !before || *before != value);
  }

 private:
  void compare_items(const Json* before, const Json& value, const ListShape& list, const Shape& shape, FieldName& at) {
    for (const Json& item : value) {
      auto name = item_name(item, list);
      if (!name) continue;
      const Json* old = item_called(before, list, *name);
      at.push_back(*std::move(name));
      note(at, !old);  // an item itself has no value; it differs only if it is new
      if (!list.is_set) compare(old, item, shape.item(), at);
      at.pop_back();
    }
  }

  void note(const FieldName& at, bool differs) {
    all.insert(at);
    if (differs) changed.insert(at);
  }
};

FieldSet fields_of(const ServedResource& resource, const Json& object) {
  ChangedFields fields;
  FieldName at;
  if (object.is_object()) fields.compare(nullptr, object, Shape::root(resource), at);
  return std::move(fields.all);
}

/// Follows `steps` from `object`, of the given shape. `shape` becomes that of the result.
const Json* follow(const Json& object, std::span<const std::string> steps, Shape& shape) {
  const Json* at = &object;
  for (const std::string& step : steps) {
    if (!at) return nullptr;
    const std::string_view name = std::string_view(step).substr(2);
    const bool is_member = step.starts_with("f:");
    at = is_member ? member_of(at, name) : item_called(at, shape.list(), step);
    shape = is_member ? shape.field(name) : shape.item();
  }
  return at;
}

const Json* value_of_field(const Json& object, const FieldName& field, Shape shape) {
  return follow(object, field, shape);
}

bool ends_in_item(const FieldName& field) { return !field.empty() && field.back().starts_with("k:"); }

/// Returns true if the value of `field` differs between `a` and `b`. For an item of a keyed list only its presence is
/// compared.
bool differs_at(const ServedResource& resource, const Json& a, const Json& b, const FieldName& field) {
  const Json* x = value_of_field(a, field, Shape::root(resource));
  const Json* y = value_of_field(b, field, Shape::root(resource));
  if (!x || !y) return x != y;
  return !ends_in_item(field) && *x != *y;
}

void remove_field(Json& object, const FieldName& field, Shape shape) {
  if (field.empty()) return;
  const auto parent_steps = std::span<const std::string>(field).first(field.size() - 1);
  Json* parent = const_cast<Json*>(follow(object, parent_steps, shape));
  if (!parent) return;
  if (field.back().starts_with("f:")) {
    if (parent->is_object()) parent->erase(field.back().substr(2));
  } else if (parent->is_array()) {
    const auto found =
        std::ranges::find_if(*parent, [&](const Json& item) { return item_name(item, shape.list()) == field.back(); });
    if (found != parent->end()) parent->erase(found);
  }
}

Json merge_applied(const Json& live, const Json& config, const Shape& shape) {
  if (config.is_object() && live.is_object() && !shape.atomic_map()) {
    Json merged = live;
    for (const auto& [name, value] : config.items()) {
      const auto found = merged.find(name);
      merged[name] = found == merged.end() ? value : merge_applied(*found, value, shape.field(name));
    }
    return merged;
  }
  if (!config.is_array() || !live.is_array()) return config;
  const ListShape list = shape.list();
  if (!list.is_set && list.keys.empty()) return config;
  Json merged = live;
  for (const Json& item : config) {
    const auto name = item_name(item, list);
    const auto known =
        std::ranges::find_if(merged, [&](const Json& old) { return name && item_name(old, list) == name; });
    if (known == merged.end()) {
      merged.push_back(item);
    } else {
      *known = merge_applied(*known, item, shape.item());
    }
  }
  return merged;
}

// --- metadata.managedFields

void read_tree(const Json& tree, FieldName& at, FieldSet& fields) {
  if (!tree.is_object()) return;
  if (tree.empty() && !at.empty()) fields.insert(at);
  for (const auto& [name, below] : tree.items()) {
    if (name == ".") {
      fields.insert(at);
      continue;
    }
    if (name.size() < 2) continue;
    at.push_back(name);
    read_tree(below, at, fields);
    at.pop_back();
  }
}

Json write_tree(const FieldSet& fields) {
  Json tree = Json::object();
  for (const FieldName& field : fields) {
    Json* at = &tree;
    for (const std::string& step : field) at = &(*at)[step];
    if (at->is_null()) *at = Json::object();
    if (ends_in_item(field)) (*at)["."] = Json::object();
  }
  return tree;
}

Managers read_managers(const Json& object) {
  Managers managers;
  const Json* entries = api::find_at(object, {"metadata", "managedFields"});
  if (!entries || !entries->is_array()) return managers;
  for (const Json& entry : *entries) {
    Managed& managed = managers[{api::text_at(entry, {"manager"}), api::text_at(entry, {"operation"}),
                                 api::text_at(entry, {"subresource"})}];
    managed.api_version = api::text_at(entry, {"apiVersion"});
    managed.time = api::text_at(entry, {"time"});
    managed.entry = &entry;
    FieldName at;
    if (const Json* tree = api::find_at(entry, {"fieldsV1"})) read_tree(*tree, at, managed.fields);
  }
  return managers;
}

Json manager_entry(const ManagerKey& key, const Managed& managed) {
  if (managed.entry) return *managed.entry;
  Json entry = {{"manager", key.manager}, {"operation", key.operation}, {"apiVersion", managed.api_version},
                {"time", managed.time},   {"fieldsType", "FieldsV1"},   {"fieldsV1", write_tree(managed.fields)}};
  if (!key.subresource.empty()) entry["subresource"] = key.subresource;
  return entry;
}

void write_managers(const Managers& managers, Json& object) {
  Json entries = Json::array();
  for (const auto& [key, managed] : managers) {
    if (!managed.fields.empty()) entries.push_back(manager_entry(key, managed));
  }
  if (entries.empty()) {
    object["metadata"].erase("managedFields");
  } else {
    object["metadata"]["managedFields"] = std::move(entries);
  }
}

// --- conflicts

struct FieldConflict {
  ManagerKey owner;
  std::string api_version;
  FieldName field;
};

std::string dotted(const FieldName& field) {
  std::string text;
  for (const std::string& step : field) {
    const std::string name = step.substr(2);
    if (step.starts_with("f:")) {
      text += "." + name;
    } else if (step.starts_with("v:")) {
      text += "[=" + name + "]";
    } else {
      const Json keys = Json::parse(name, nullptr, false);
      text += "[";
      for (const auto& [key, value] : keys.items())
        text += fmt::format("{}{}={}", text.back() == '[' ? "" : ",", key, api::to_json_text(value));
      text += "]";
    }
  }
  return text;
}

std::string owner_text(const FieldConflict& conflict) {
  const std::string part =
      conflict.owner.subresource.empty() ? "" : fmt::format(" with subresource \"{}\"", conflict.owner.subresource);
  return fmt::format("conflict with \"{}\"{} using {}", conflict.owner.manager, part, conflict.api_version);
}

Failure apply_conflict(const std::vector<FieldConflict>& conflicts) {
  Json causes = Json::array();
  for (const FieldConflict& conflict : conflicts) {
    causes.push_back(
        {{"reason", "FieldManagerConflict"}, {"message", owner_text(conflict)}, {"field", dotted(conflict.field)}});
  }
  std::string text;
  if (conflicts.size() == 1) {
    text = fmt::format("Apply failed with 1 conflict: {}: {}", owner_text(conflicts[0]), dotted(conflicts[0].field));
  } else {
    text = fmt::format("Apply failed with {} conflicts:", conflicts.size());
    for (const FieldConflict& conflict : conflicts)
      text += fmt::format("\n- {}: {}", owner_text(conflict), dotted(conflict.field));
  }
  return {409, "Conflict", std::move(text), Json{{"causes", std::move(causes)}}};
}

std::vector<FieldConflict> find_conflicts(const ServedResource& resource, const Json& live, const Json& config,
                                          const FieldSet& wanted, const Managers& managers, const ManagerKey& me) {
  std::vector<FieldConflict> conflicts;
  for (const auto& [key, managed] : managers) {
    if (key == me) continue;
    for (const FieldName& field : wanted) {
      if (managed.fields.contains(field) && differs_at(resource, live, config, field))
        conflicts.push_back({key, managed.api_version, field});
    }
  }
  return conflicts;
}

}  // namespace

Outcome<Json> apply_fields(const ServedResource& resource, const Json& live, const Json& config,
                           const FieldWriter& writer) {
  const ManagerKey me{writer.manager, "Apply", writer.subresource};
  Managers managers = read_managers(live);
  for (auto& [key, managed] : managers) managed.entry = nullptr;
  const FieldSet wanted = fields_of(resource, config);
  const FieldSet before = managers[me].fields;

  const auto conflicts = find_conflicts(resource, live, config, wanted, managers, me);
  if (!conflicts.empty() && !writer.force) return apply_conflict(conflicts);
  for (const FieldConflict& conflict : conflicts) managers[conflict.owner].fields.erase(conflict.field);

  Json merged = live.is_object() ? merge_applied(live, config, Shape::root(resource)) : config;
  std::for_each(before.rbegin(), before.rend(), [&](const FieldName& field) {  // deepest first
    const auto owned = [&](const auto& entry) { return entry.first != me && entry.second.fields.contains(field); };
    if (!wanted.contains(field) && std::ranges::none_of(managers, owned))
      remove_field(merged, field, Shape::root(resource));
  });
  if (before != wanted || managers[me].time.empty()) managers[me].time = base::format_time(writer.now);
  managers[me].fields = wanted;
  managers[me].api_version = resource.api_version();
  write_managers(managers, merged);
  return merged;
}

void track_update(const ServedResource& resource, const Json& before, Json& after, const FieldWriter& writer) {
  const bool known = before.is_object() && api::find_at(before, {"metadata", "managedFields"});
  if (!resource.custom && !known) return;
  Managers managers = before.is_object() ? read_managers(before) : Managers();
  ChangedFields fields;
  FieldName at;
  if (after.is_object()) fields.compare(&before, after, Shape::root(resource), at);
  for (auto& [key, managed] : managers) {
    const auto lost = std::erase_if(managed.fields, [&](const FieldName& field) {
      return fields.changed.contains(field) || !fields.all.contains(field);
    });
    if (lost > 0) managed.entry = nullptr;
  }
  if (!fields.changed.empty()) {
    Managed& mine = managers[{writer.manager, "Update", writer.subresource}];
    mine.entry = nullptr;
    mine.fields.merge(fields.changed);
    mine.api_version = resource.api_version();
    mine.time = base::format_time(writer.now);
  }
  write_managers(managers, after);
}

}  // namespace simulator
