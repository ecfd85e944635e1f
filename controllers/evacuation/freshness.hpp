#pragma once

namespace controllers::evacuation {

/// How fresh the things are that one reconcile decides on. It begins with the caches, which lag: nothing is written or
/// called on their word alone. Not thread-safe: of one reconcile.
class Freshness {
 public:
  // --- the Evacuation
  /// The server gave it, in answer to a read or a write.
  void mark_live() { evacuation_ = Evacuation::kLive; }
  /// A guarded write was in conflict: what we know is old, and the cache is not to be trusted again.
  void write_conflicted() { evacuation_ = Evacuation::kOutdated; }
  /// The server says that it will never store this.
  void write_refused() { evacuation_ = Evacuation::kRefused; }
  void mark_gone() { evacuation_ = Evacuation::kGone; }

  bool evacuation_is_live() const { return evacuation_ == Evacuation::kLive; }
  bool evacuation_is_gone() const { return evacuation_ == Evacuation::kGone; }
  bool write_was_refused() const { return evacuation_ == Evacuation::kRefused; }
  /// May a write be based on the cached one? Its guard tells whether that was the newest.
  bool may_write_cached() const { return evacuation_ == Evacuation::kCached; }

  // --- the pod
  void pod_arrived() { pod_is_live_ = true; }
  /// A call of ours may have changed it.
  void pod_may_differ() { pod_is_live_ = false; }
  bool pod_is_live() const { return pod_is_live_; }

  // --- the votes of the others of its PodGroup
  void pod_group_arrived() { pod_group_is_live_ = true; }
  void pod_group_from_cache() { pod_group_is_live_ = false; }
  bool pod_group_is_live() const { return pod_group_is_live_; }

  // --- the pod's PersistentVolumeClaims, and its PodGroup of scheduling.k8s.io
  void claims_arrived() { claims_are_live_ = true; }
  void claims_from_cache() { claims_are_live_ = false; }
  bool claims_are_live() const { return claims_are_live_; }

  // --- what the evictor reads beside the pod: nothing tells us when that changes
  void documents_arrived() { has_documents_ = true; }
  bool has_documents() const { return has_documents_; }
  /// They were read for one question only: as if they had not been.
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
