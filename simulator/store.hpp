#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/resource.hpp"

namespace simulator {

/// A stored object: immutable, shared JSON. Always complete (apiVersion, kind, metadata…).
using Object = std::shared_ptr<const api::Json>;

enum class ChangeKind { kAdded, kModified, kDeleted };

/// An entry of the store's journal.
struct Change {
  std::uint64_t revision = 0;
  ChangeKind kind = ChangeKind::kAdded;
  std::string group;  ///< group of the resource
  std::string plural;
  api::ObjectKey key;
  Object object;  ///< object after the change (kDeleted: last state, with the resourceVersion of the deletion)
  Object before;  ///< nullptr for kAdded
};

/// The part of an object that a write may change; other parts remain as stored.
enum class Part { kAll, kMain, kStatus };

/// Restores the fields that only the server may set and, by `part`, the parts that the write may not change.
void restore_unwritable_fields(const api::Json& stored, api::Json& edited, Part part);

struct Preconditions {
  std::string uid;
  std::string resource_version;
};

/// Returns why `object` does not meet the preconditions, in Kubernetes' words, nullopt if it meets them.
std::optional<std::string> unmet_precondition(const Preconditions& expected, const api::Json& object);

struct Listing {
  std::vector<Object> items;
  std::uint64_t revision = 0;
};

/// etcd and the generic registry in one: UID, a global resourceVersion counter, generation (incremented if anything but
/// metadata and status changes, for kinds with a status subresource), creationTimestamp, deletionTimestamp and
/// finalizers, optimistic locking, a bounded journal for watches. Independent of HTTP and of specific kinds, except
/// that pods are deleted gracefully. Thread-safe. Error messages are Kubernetes' own.
class Store {
 public:
  /// `seed` makes UIDs and generated names reproducible. `clock` must outlive the store.
  Store(const base::Clock& clock, std::uint64_t seed);
  ~Store();

  /// Returns nullptr if the object does not exist. Resources are identified by group and plural; the version is
  /// ignored.
  Object get(const kube::ResourceType& type, const api::ObjectKey& key) const;
  /// Returns objects ordered by namespace and name. An empty namespace means all.
  std::vector<Object> list(const kube::ResourceType& type, const std::string& ns = {}) const;

  /// Lists objects with the revision of the list: current, or at `revision` (continue tokens, stale lists). Returns
  /// kGone if the journal does not reach back to it.
  base::Result<Listing> list_at(const kube::ResourceType& type, const std::string& ns,
                                std::optional<std::uint64_t> revision = {}) const;

  /// Admission for objects created without the API server; may change the object. Creators must call admit() directly
  /// before create(). An error means that the object must not be created. Set it before concurrent use of the store.
  using Admission = std::function<base::Status(const kube::ResourceType& type, api::Json& object)>;
  void set_admission(Admission admission);
  base::Status admit(const kube::ResourceType& type, api::Json& object) const;

  /// Sets metadata (uid, resourceVersion, creationTimestamp, generation 1, name from generateName). Returns
  /// kAlreadyExists if the name is taken.
  base::Result<Object> create(const kube::ResourceType& type, api::Json object);

  /// Read-modify-write under the lock. `change` edits a copy; its error aborts the write. Returns kConflict if the copy
  /// has a metadata.resourceVersion other than the stored one. A write without differences creates no revision.
  /// Removing the last finalizer of a terminating object deletes the object.
  base::Result<Object> mutate(const kube::ResourceType& type, const api::ObjectKey& key, Part part,
                              const std::function<base::Status(api::Json& object)>& change);

  /// Edits the object like mutate(), if it exists and, unless `uid` is empty, has that UID. Returns nullptr on failure.
  Object edit(const kube::ResourceType& type, const api::ObjectKey& key, Part part, const std::string& uid,
              const std::function<void(api::Json& object)>& change);

  /// Writes `object`, which is compared by its resourceVersion like the copy of mutate().
  base::Result<Object> update(const kube::ResourceType& type, const api::ObjectKey& key, Part part, api::Json object);

  /// Deletes gracefully: pods with a node get deletionTimestamp = now + grace and remain until a deletion with grace 0
  /// (by the kubelet); objects with finalizers get a deletionTimestamp and remain; others are deleted immediately.
  /// Returns kConflict, with Kubernetes' messages, if a precondition fails. Returns the object after the call.
  base::Result<Object> remove(const kube::ResourceType& type, const api::ObjectKey& key,
                              const Preconditions& expected = {}, std::optional<std::int64_t> grace_seconds = {});

  std::uint64_t revision() const;
  /// Returns the changes after `revision`, oldest first, of one resource or (nullptr) of all. Returns kGone if the
  /// journal does not reach back to it.
  base::Result<std::vector<Change>> changes_since(std::uint64_t revision,
                                                  const kube::ResourceType* type = nullptr) const;
  /// Waits until revision() > `seen`, the timeout or a stop. Returns revision().
  std::uint64_t wait_past(std::uint64_t seen, base::milliseconds timeout) const;
  /// Discards the journal, so that older watches get 410 Gone.
  void compact();

  const base::Clock& clock() const;
  /// Return a reproducible UUID and a reproducible 5-character suffix like the API server's.
  std::string new_uid();
  std::string new_suffix();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace simulator
