#include "simulator/store.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;
using api::ObjectKey;

constexpr std::size_t kJournalLimit = 16'384;  // about five minutes of a busy test; older watches get 410
constexpr std::int64_t kDefaultGraceSeconds = 30;
constexpr int kNameAttempts = 8;  // attempts for generateName, as in the API server since 1.30

using Objects = std::map<ObjectKey, Object>;

/// In Kubernetes, core kinds except pods, and records such as Events and Leases, have no generation.
bool has_generation(const kube::ResourceType& type) {
  if (type.group.empty()) return type.plural == "pods";
  return type.group != "events.k8s.io" && type.group != "coordination.k8s.io" &&
         type.group != "rbac.authorization.k8s.io";
}

/// Returns "pods" or "evacuations.evacuator.dev".
std::string resource_name(const kube::ResourceType& type) {
  return type.group.empty() ? std::string(type.plural) : fmt::format("{}.{}", type.plural, type.group);
}

base::Error missing_in_store(const kube::ResourceType& type, const ObjectKey& key) {
  return {base::ErrorCode::kNotFound, fmt::format("{} \"{}\" not found", resource_name(type), key.name)};
}

std::string too_old(std::uint64_t revision, std::uint64_t oldest) {
  return fmt::format("too old resource version: {} ({})", revision, oldest);
}

base::Error stale_write(const kube::ResourceType& type, const ObjectKey& key) {
  return {base::ErrorCode::kConflict,
          fmt::format("Operation cannot be fulfilled on {} \"{}\": the object has been modified; please apply your "
                      "changes to the latest version and try again",
                      resource_name(type), key.name)};
}

/// Returns true if the object has metadata.finalizers or, for namespaces, spec.finalizers, which have the same effect.
bool has_finalizers(const Json& object) {
  const Json* own = api::find_at(object, {"metadata", "finalizers"});
  const Json* spec = api::find_at(object, {"spec", "finalizers"});
  const bool is_namespace = api::text_at(object, {"kind"}) == "Namespace";
  return (own && !own->empty()) || (is_namespace && spec && !spec->empty());
}

/// Returns true if fields that affect generation differ.
bool differs_in_spec(const Json& a, const Json& b) {
  const auto counted = [](const std::string& field) {
    return field != "metadata" && field != "status" && field != "apiVersion" && field != "kind";
  };
  for (const auto& [field, value] : a.items()) {
    if (!counted(field)) continue;
    const auto other = b.find(field);
    if (other == b.end() || *other != value) return true;
  }
  for (const auto& [field, value] : b.items()) {
    if (counted(field) && !a.contains(field)) return true;
  }
  return false;
}

void bump_generation(Json& object) {
  Json& metadata = object["metadata"];
  const auto found = metadata.find("generation");
  if (found != metadata.end() && found->is_number_integer()) *found = found->get<std::int64_t>() + 1;
}

/// Returns the grace period of the deletion in seconds; 0 deletes immediately.
std::int64_t grace_of(const kube::ResourceType& type, const Json& object, std::optional<std::int64_t> asked) {
  if (type.group != "" || type.plural != "pods") return 0;
  const std::string phase = api::text_at(object, {"status", "phase"});
  if (api::text_at(object, {"spec", "nodeName"}).empty() || phase == "Succeeded" || phase == "Failed") return 0;
  const std::int64_t own =
      api::number_at(object, {"spec", "terminationGracePeriodSeconds"}).value_or(kDefaultGraceSeconds);
  const std::int64_t grace = asked.value_or(own);
  return grace < 0 ? 1 : grace;
}

}  // namespace

std::optional<std::string> unmet_precondition(const Preconditions& expected, const Json& object) {
  const auto mismatch = [](const char* what, const std::string& wanted, const std::string& is, const char* hint) {
    return fmt::format(
        "the {} in the precondition ({}) does not match the {} in record ({}). The object might have been "
        "{}",
        what, wanted, what, is, hint);
  };
  const std::string uid = uid_of(object);
  if (!expected.uid.empty() && expected.uid != uid)
    return mismatch("UID", expected.uid, uid, "deleted and then recreated");
  const std::string version = api::text_at(object, {"metadata", "resourceVersion"});
  if (!expected.resource_version.empty() && expected.resource_version != version)
    return mismatch("ResourceVersion", expected.resource_version, version, "modified");
  return std::nullopt;
}

void restore_unwritable_fields(const Json& stored, Json& edited, Part part) {
  for (const char* name : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                           "deletionGracePeriodSeconds", "generation", "resourceVersion", "generateName", "selfLink"}) {
    api::copy_member(stored.at("metadata"), edited["metadata"], name);
  }
  if (part == Part::kMain) api::copy_member(stored, edited, "status");
  if (part == Part::kStatus) api::revert_all_but_status(stored, edited);
  edited["apiVersion"] = stored.at("apiVersion");
  edited["kind"] = stored.at("kind");
}

struct Store::Impl {
  /// Group and plural. Lookups do not allocate strings.
  struct TableName {
    std::string group;
    std::string plural;
  };
  struct TableOrder {
    using is_transparent = void;
    using View = std::pair<std::string_view, std::string_view>;
    static View view(const TableName& name) { return {name.group, name.plural}; }
    static View view(const kube::ResourceType& type) { return {type.group, type.plural}; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return view(a) < view(b);
    }
  };

  Impl(const base::Clock& its_clock, std::uint64_t seed) : clock(its_clock), random(seed) {}

  Objects* table(const kube::ResourceType& type) {
    const auto found = tables.find(type);
    return found == tables.end() ? nullptr : &found->second;
  }

  Objects& make_table(const kube::ResourceType& type) {
    if (Objects* known = table(type)) return *known;
    return tables[TableName{std::string(type.group), std::string(type.plural)}];
  }

  std::optional<Objects::iterator> find(const kube::ResourceType& type, const ObjectKey& key) {
    Objects* objects = table(type);
    if (!objects) return std::nullopt;
    const auto at = objects->find(key);
    return at == objects->end() ? std::nullopt : std::optional(at);
  }

  /// Sets the next revision on `object` and appends it to the journal. REQUIRES: the lock is held.
  Object record(const kube::ResourceType& type, ChangeKind kind, const ObjectKey& key, Json object, Object before) {
    object["metadata"]["resourceVersion"] = std::to_string(++revision);
    auto stored = std::make_shared<const Json>(std::move(object));
    journal.push_back(
        {revision, kind, std::string(type.group), std::string(type.plural), key, stored, std::move(before)});
    while (journal.size() > kJournalLimit) {
      forgotten = journal.front().revision;
      journal.pop_front();
    }
    changed.notify_all();
    return stored;
  }

  Object replace(const kube::ResourceType& type, Objects::iterator at, Json object) {
    return at->second = record(type, ChangeKind::kModified, at->first, std::move(object), at->second);
  }

  Object erase(const kube::ResourceType& type, Objects::iterator at, Json last) {
    const ObjectKey key = at->first;
    Object before = at->second;
    table(type)->erase(at);
    return record(type, ChangeKind::kDeleted, key, std::move(last), std::move(before));
  }

  std::vector<Object> list(const kube::ResourceType& type, const std::string& ns);
  std::vector<Object> undo_since(std::uint64_t wanted, const kube::ResourceType& type, const std::string& ns,
                                 std::vector<Object> now);
  base::Result<Object> write(const kube::ResourceType& type, Objects::iterator at, Part part, Json edited);
  Object commit(const kube::ResourceType& type, Objects::iterator at, Json edited);
  Object start_termination(const kube::ResourceType& type, Objects::iterator at, std::int64_t grace);
  Object continue_termination(const kube::ResourceType& type, Objects::iterator at, std::optional<std::int64_t> asked);

  const base::Clock& clock;
  Admission admission;
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::map<TableName, Objects, TableOrder> tables;
  std::deque<Change> journal;
  std::uint64_t revision = 1;   // like etcd's: an empty cluster lists with resourceVersion 1, never the special "0"
  std::uint64_t forgotten = 0;  // newest revision no longer in the journal

  std::mutex random_mutex;  // separate from `mutex`, so that a change function can generate names
  std::mt19937_64 random;
};

std::vector<Object> Store::Impl::list(const kube::ResourceType& type, const std::string& ns) {
  std::vector<Object> found;
  const Objects* objects = table(type);
  if (!objects) return found;
  if (ns.empty()) found.reserve(objects->size());
  for (auto at = ns.empty() ? objects->begin() : objects->lower_bound({ns, ""}); at != objects->end(); ++at) {
    if (!ns.empty() && at->first.ns != ns) break;
    found.push_back(at->second);
  }
  return found;
}

/// Reconstructs the list at `wanted` by undoing journal entries, newest first.
std::vector<Object> Store::Impl::undo_since(std::uint64_t wanted, const kube::ResourceType& type, const std::string& ns,
                                            std::vector<Object> now) {
  Objects then;
  for (Object& object : now) {
    ObjectKey key = key_of(*object);
    then.emplace_hint(then.end(), std::move(key), std::move(object));
  }
  for (auto at = journal.rbegin(); at != journal.rend() && at->revision > wanted; ++at) {
    if (at->group != type.group || at->plural != type.plural || (!ns.empty() && at->key.ns != ns)) continue;
    if (at->before) {
      then[at->key] = at->before;
    } else {
      then.erase(at->key);
    }
  }
  std::vector<Object> found;
  found.reserve(then.size());
  for (auto& [key, object] : then) found.push_back(std::move(object));
  return found;
}

/// Stores an edited copy, restricted to `part`.
base::Result<Object> Store::Impl::write(const kube::ResourceType& type, Objects::iterator at, Part part, Json edited) {
  const ObjectKey& key = at->first;
  const Object stored = at->second;
  if (!edited.is_object() || !edited["metadata"].is_object()) return base::invalid("metadata: an object is required");

  const std::string version = api::text_at(edited, {"metadata", "resourceVersion"});
  if (!version.empty() && version != api::text_at(*stored, {"metadata", "resourceVersion"}))
    return stale_write(type, key);
  const std::string uid = api::text_at(edited, {"metadata", "uid"});
  if (!uid.empty() && uid != api::text_at(*stored, {"metadata", "uid"})) {
    return base::invalid(fmt::format("metadata.uid: Invalid value: \"{}\": field is immutable", uid));
  }
  restore_unwritable_fields(*stored, edited, part);
  return commit(type, at, std::move(edited));
}

Object Store::Impl::commit(const kube::ResourceType& type, Objects::iterator at, Json edited) {
  const Json& stored = *at->second;
  if (edited == stored) return at->second;
  if (differs_in_spec(stored, edited)) bump_generation(edited);
  const bool terminating = is_terminating(edited);
  const bool grace_is_over = api::number_at(edited, {"metadata", "deletionGracePeriodSeconds"}).value_or(0) == 0;
  if (terminating && grace_is_over && !has_finalizers(edited)) return erase(type, at, std::move(edited));
  return replace(type, at, std::move(edited));
}

Object Store::Impl::start_termination(const kube::ResourceType& type, Objects::iterator at, std::int64_t grace) {
  Json object = *at->second;
  if (grace == 0 && !has_finalizers(object)) return erase(type, at, std::move(object));
  object["metadata"]["deletionTimestamp"] = base::format_time(clock.now() + base::seconds(grace));
  object["metadata"]["deletionGracePeriodSeconds"] = grace;
  bump_generation(object);
  return replace(type, at, std::move(object));
}

/// Handles the deletion of a terminating object, which can only shorten the grace period.
Object Store::Impl::continue_termination(const kube::ResourceType& type, Objects::iterator at,
                                         std::optional<std::int64_t> asked) {
  const std::int64_t left = api::number_at(*at->second, {"metadata", "deletionGracePeriodSeconds"}).value_or(0);
  const std::int64_t wanted = asked ? grace_of(type, *at->second, asked) : left;
  Json object = *at->second;
  if (std::min(wanted, left) == 0 && !has_finalizers(object)) return erase(type, at, std::move(object));
  if (wanted >= left) return at->second;
  const auto old_end = time_at(object, {"metadata", "deletionTimestamp"}).value_or(clock.now());
  object["metadata"]["deletionTimestamp"] = base::format_time(old_end - base::seconds(left - wanted));
  object["metadata"]["deletionGracePeriodSeconds"] = wanted;
  return replace(type, at, std::move(object));
}

Store::Store(const base::Clock& clock, std::uint64_t seed) : impl_(std::make_unique<Impl>(clock, seed)) {}
Store::~Store() = default;

Object Store::get(const kube::ResourceType& type, const ObjectKey& key) const {
  const std::scoped_lock lock(impl_->mutex);
  const auto at = impl_->find(type, key);
  return at ? (*at)->second : nullptr;
}

std::vector<Object> Store::list(const kube::ResourceType& type, const std::string& ns) const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->list(type, ns);
}

base::Result<Listing> Store::list_at(const kube::ResourceType& type, const std::string& ns,
                                     std::optional<std::uint64_t> revision) const {
  const std::scoped_lock lock(impl_->mutex);
  std::vector<Object> now = impl_->list(type, ns);
  if (!revision || *revision >= impl_->revision) return Listing{std::move(now), impl_->revision};
  if (*revision < impl_->forgotten) return base::Error{base::ErrorCode::kGone, too_old(*revision, impl_->forgotten)};
  return Listing{impl_->undo_since(*revision, type, ns, std::move(now)), *revision};
}

void Store::set_admission(Admission admission) { impl_->admission = std::move(admission); }

base::Status Store::admit(const kube::ResourceType& type, Json& object) const {
  return impl_->admission ? impl_->admission(type, object) : base::Status(base::Done{});
}

base::Result<Object> Store::create(const kube::ResourceType& type, Json object) {
  if (!object.is_object() || !object["metadata"].is_object()) return base::invalid("metadata: an object is required");
  Json& metadata = object["metadata"];
  const std::string prefix = api::text_at(metadata, {"generateName"});
  std::string name = api::text_at(metadata, {"name"});
  const bool generated = name.empty() && !prefix.empty();
  if (name.empty() && !generated)
    return base::invalid("metadata.name: Required value: name or generateName is required");
  const std::string ns = type.namespaced ? api::text_at(metadata, {"namespace"}) : std::string();
  if (type.namespaced && ns.empty()) return base::invalid("metadata.namespace: Required value");
  if (!type.namespaced) metadata.erase("namespace");

  object["apiVersion"] = type.api_version();
  object["kind"] = type.kind;
  for (const char* field : {"deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"})
    metadata.erase(field);
  metadata["uid"] = new_uid();
  metadata["creationTimestamp"] = base::format_time(impl_->clock.now());
  if (has_generation(type)) metadata["generation"] = 1;

  const std::scoped_lock lock(impl_->mutex);
  Objects& objects = impl_->make_table(type);
  if (generated) name = prefix + new_suffix();
  for (int i = 1; generated && i < kNameAttempts && objects.contains({ns, name}); ++i) name = prefix + new_suffix();
  ObjectKey key{ns, name};
  if (objects.contains(key)) {
    return base::Error{base::ErrorCode::kAlreadyExists,
                       fmt::format("{} \"{}\" already exists", resource_name(type), name)};
  }
  metadata["name"] = name;
  return objects[key] = impl_->record(type, ChangeKind::kAdded, key, std::move(object), nullptr);
}

base::Result<Object> Store::mutate(const kube::ResourceType& type, const ObjectKey& key, Part part,
                                   const std::function<base::Status(Json& object)>& change) {
  const std::scoped_lock lock(impl_->mutex);
  const auto found = impl_->find(type, key);
  if (!found) return missing_in_store(type, key);
  Json edited = *(*found)->second;
  if (base::Status changed = change(edited); !changed) return std::move(changed).error();
  return impl_->write(type, *found, part, std::move(edited));
}

Object Store::edit(const kube::ResourceType& type, const ObjectKey& key, Part part, const std::string& uid,
                   const std::function<void(Json& object)>& change) {
  auto edited = mutate(type, key, part, [&](Json& object) -> base::Status {
    if (!uid.empty() && uid_of(object) != uid) return stale_write(type, key);
    change(object);
    return base::Done{};
  });
  return edited ? *std::move(edited) : nullptr;
}

base::Result<Object> Store::update(const kube::ResourceType& type, const ObjectKey& key, Part part, Json object) {
  const std::scoped_lock lock(impl_->mutex);
  const auto found = impl_->find(type, key);
  if (!found) return missing_in_store(type, key);
  return impl_->write(type, *found, part, std::move(object));
}

base::Result<Object> Store::remove(const kube::ResourceType& type, const ObjectKey& key, const Preconditions& expected,
                                   std::optional<std::int64_t> grace_seconds) {
  const std::scoped_lock lock(impl_->mutex);
  const auto found = impl_->find(type, key);
  if (!found) return missing_in_store(type, key);
  const Objects::iterator at = *found;
  if (const auto unmet = unmet_precondition(expected, *at->second)) {
    return base::Error{base::ErrorCode::kConflict,
                       fmt::format("Operation cannot be fulfilled on {}{}{} \"{}\": {}", type.kind,
                                   type.group.empty() ? "" : ".", type.group, key.name, *unmet)};
  }
  if (is_terminating(*at->second)) return impl_->continue_termination(type, at, grace_seconds);
  return impl_->start_termination(type, at, grace_of(type, *at->second, grace_seconds));
}

std::uint64_t Store::revision() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->revision;
}

base::Result<std::vector<Change>> Store::changes_since(std::uint64_t revision, const kube::ResourceType* type) const {
  const std::scoped_lock lock(impl_->mutex);
  if (revision < impl_->forgotten) {
    return base::Error{base::ErrorCode::kGone, too_old(revision, impl_->forgotten)};
  }
  std::vector<Change> found;
  const auto& journal = impl_->journal;
  auto at = std::upper_bound(journal.begin(), journal.end(), revision,
                             [](std::uint64_t wanted, const Change& change) { return wanted < change.revision; });
  for (; at != journal.end(); ++at) {
    if (!type || (at->group == type->group && at->plural == type->plural)) found.push_back(*at);
  }
  return found;
}

std::uint64_t Store::wait_past(std::uint64_t seen, base::milliseconds timeout) const {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait_for(lock, timeout, [&] { return impl_->revision > seen; });
  return impl_->revision;
}

void Store::compact() {
  const std::scoped_lock lock(impl_->mutex);
  impl_->forgotten = impl_->revision;
  impl_->journal.clear();
}

const base::Clock& Store::clock() const { return impl_->clock; }

std::string Store::new_uid() {
  const std::scoped_lock lock(impl_->random_mutex);
  const std::uint64_t high = impl_->random();
  const std::uint64_t low = impl_->random();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xfff,
                     8 + ((low >> 62) & 3), (low >> 48) & 0xfff, low & 0xffffffffffff);
}

std::string Store::new_suffix() {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";  // no vowels, to avoid forming words
  const std::scoped_lock lock(impl_->random_mutex);
  std::string suffix;
  for (int i = 0; i < 5; ++i) suffix += kAlphabet[impl_->random() % kAlphabet.size()];
  return suffix;
}

}  // namespace simulator
