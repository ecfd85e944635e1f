#pragma once

namespace controllers::evacuation {

/// Tracks the freshness of the objects that one reconcile decides on. A reconcile begins with the caches, which lag; it
/// must not write or call on cached data alone. Not thread-safe.
class Freshness {
 public:
  // --- the Evacuation
  /// Call after the server returned the object in answer to a read or write.
  void mark_live() { evacuation_ = Evacuation::kLive; }
  /// Call after a guarded write conflicted: the known version is stale, and the cache must not be used again.
  void write_conflicted() { evacuation_ = Evacuation::kOutdated; }
  /// Call after the server permanently refused a write.
  void write_refused() { evacuation_ = Evacuation::kRefused; }
  void mark_gone() { evacuation_ = Evacuation::kGone; }

  bool evacuation_is_live() const { return evacuation_ == Evacuation::kLive; }
  bool evacuation_is_gone() const { return evacuation_ == Evacuation::kGone; }
  bool write_was_refused() const { return evacuation_ == Evacuation::kRefused; }
  /// Whether a write may be based on the cached object. The guard of the write detects a stale version.
  bool may_write_cached() const { return evacuation_ == Evacuation::kCached; }

  // --- the pod
  void pod_arrived() { pod_is_live_ = true; }
  /// Call when one of our calls may have changed the pod.
  void pod_may_differ() { pod_is_live_ = false; }
  bool pod_is_live() const { return pod_is_live_; }

  // --- votes of the other members of its PodGroup
  void pod_group_arrived() { pod_group_is_live_ = true; }
  void pod_group_from_cache() { pod_group_is_live_ = false; }
  bool pod_group_is_live() const { return pod_group_is_live_; }

  // --- the pod's PersistentVolumeClaims, and its PodGroup of scheduling.k8s.io
  void claims_arrived() { claims_are_live_ = true; }
  void claims_from_cache() { claims_are_live_ = false; }
  bool pvcs_are_live() const { return claims_are_live_; }

  // --- documents that the evictor reads besides the pod; no watch reports their changes
  void documents_arrived() { has_documents_ = true; }
  bool has_documents() const { return has_documents_; }
  /// Call if the documents were read for one question only and must be read again.
  void forget_documents() { has_documents_ = false; }

 private:
  enum class Evacuation { kCached, kOutdated, kLive, kRefused, kGone };

  Evacuation evacuation_ = Evacuation::kCached;
  bool pod_is_live_ = false;
  bool pod_group_is_live_ = false;
  bool claims_are_live_ = false;
  bool has_documents_ = false;
};

}  // namespace controllers::evacuation
