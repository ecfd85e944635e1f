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

/// An object as stored: immutable JSON, shared. Always complete (apiVersion, kind, metadata…).
using Object = std::shared_ptr<const api::Json>;

enum class ChangeKind { kAdded, kModified, kDeleted };

/// One entry of the store's journal.
struct Change {
  std::uint64_t revision = 0;
  ChangeKind kind = ChangeKind::kAdded;
  std::string group;  ///< of the resource
  std::string plural;
  api::ObjectKey key;
  Object object;  ///< after the change (kDeleted: the last state, with the deletion's resourceVersion)
  Object before;  ///< nullptr for kAdded
};

/// Which parts of an object a write may touch; the rest is kept as stored.
enum class Part { kAll, kMain, kStatus };

struct Preconditions {
  std::string uid;
  std::string resource_version;
};

/// What a list saw, and when.
struct Listing {
  std::vector<Object> items;
  std::uint64_t revision = 0;
};

/// etcd and the generic registry in one: uid, one global resourceVersion counter, generation (bumped when anything but
/// metadata and status changes, for kinds with a status subresource), creationTimestamp, deletionTimestamp and
/// finalizers, optimistic locking, a bounded journal for watches. Knows nothing of HTTP and of single kinds, except
/// that pods are deleted gracefully. Thread-safe. Error messages are Kubernetes' own.
class Store {
 public:
  /// `seed` makes the UIDs and generated names reproducible. `clock` must outlive the store.
  Store(const base::Clock& clock, std::uint64_t seed);
  ~Store();

  /// nullptr: there is none. Resources are identified by group and plural; the version does not matter here.
  Object get(const kube::ResourceType& type, const api::ObjectKey& key) const;
  /// Ordered by namespace and name; an empty namespace means all.
  std::vector<Object> list(const kube::ResourceType& type, const std::string& ns = {}) const;

  /// The same together with the revision it is true for: now, or as it was at `revision` (continue tokens, stale
  /// lists). kGone when the journal no longer reaches back to it.
  base::Result<Listing> list_at(const kube::ResourceType& type, const std::string& ns,
                                std::optional<std::uint64_t> revision = {}) const;

  /// Asked by those who create objects without the API server, right before; may change the object. An error: it is not
  /// to be created. One for all; set while nobody else uses the store.
  using Admission = std::function<base::Status(const kube::ResourceType& type, api::Json& object)>;
  void set_admission(Admission admission);
  base::Status admit(const kube::ResourceType& type, api::Json& object) const;

  /// Fills in metadata (uid, resourceVersion, creationTimestamp, generation 1, name from generateName).
  /// kAlreadyExists when the name is taken.
  base::Result<Object> create(const kube::ResourceType& type, api::Json object);

  /// Read-modify-write under the lock. `change` edits a copy; an error from it aborts the write. When the edited copy
  /// carries metadata.resourceVersion other than the stored one → kConflict. No difference → no new revision. Taking
  /// the last finalizer off a terminating object deletes it.
  base::Result<Object> mutate(const kube::ResourceType& type, const api::ObjectKey& key, Part part,
                              const std::function<base::Status(api::Json& object)>& change);

  /// The same with the edited copy given: nothing is read, the resourceVersion that `object` carries is compared.
  base::Result<Object> update(const kube::ResourceType& type, const api::ObjectKey& key, Part part, api::Json object);

  /// Graceful deletion: pods with a node get deletionTimestamp = now + grace and stay until grace 0 (the kubelet's
  /// word); objects with finalizers get a deletionTimestamp and stay; others go at once. kConflict on failed
  /// preconditions, with Kubernetes' messages. Returns the object as it is after the call.
  base::Result<Object> remove(const kube::ResourceType& type, const api::ObjectKey& key,
                              const Preconditions& expected = {}, std::optional<std::int64_t> grace_seconds = {});

  /// Of the newest change.
  std::uint64_t revision() const;
  /// Changes after `revision`, oldest first, of one resource or (nullptr) of all. kGone when the journal no longer
  /// reaches back.
  base::Result<std::vector<Change>> changes_since(std::uint64_t revision,
                                                  const kube::ResourceType* type = nullptr) const;
  /// Waits until revision() > `seen`, the timeout or the stop; returns revision().
  std::uint64_t wait_past(std::uint64_t seen, base::milliseconds timeout) const;
  /// Forgets the journal up to now, so that older watches get 410 Gone.
  void compact();

  const base::Clock& clock() const;
  /// A reproducible UUID and a reproducible 5-character suffix, as the API server makes them.
  std::string new_uid();
  std::string new_suffix();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace simulator
