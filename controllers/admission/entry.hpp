#pragma once

/// State of one Evacuation in the admission queue. Internal to this folder.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.hpp"
#include "controllers/admission/request.hpp"
#include "controllers/admission/scopes.hpp"

namespace controllers {

/// Two independent states, one per source, so that every combination is valid:
///
///   stored    part of a slot that it holds according to the store (by its phase), or Abandoned
///   turn      decision of this leader about the next attempt, which the store does not show yet
///
///   Idle                 → Waiting, WaitingWithPodGroup   requests a slot before an attempt, or without a slot (T39)
///                        → Reserved                       requests a slot while it holds that of its last attempt
///   Waiting              → Reserved                       every limit has free capacity
///                        → Idle                           withdrawn, abandoned, a duplicate, or cooling down
///   WaitingWithPodGroup  → Reserved                       slots and free capacity for all members, in one step
///                        → Idle                           withdrawn, abandoned, a duplicate, or cooling down
///   Reserved             → Idle                           the store shows the attempt; or withdrawn, abandoned
///                        → Waiting, WaitingWithPodGroup   requests the next attempt while its policy holds
///
/// A finished Evacuation has no entry. A deleted one has none either, unless its pod was asked to leave; then it is
/// Departing.
struct AdmissionEntry {
  /// Part that counts in its scopes; each value includes the previous ones.
  enum class Held {
    kNothing,
    kWorkload,  ///< Verifying, without counting on a target node (any more)
    kArrival,   ///< Verifying: workload and target node
    kSlot,      ///< all of its scopes
  };
  /// Its state cannot be stored for this version. It holds nothing until the store shows another version.
  struct Abandoned {
    std::string resource_version;
  };

  /// Deleted while its pod was being evicted. It holds its slot until the pod has left.
  struct Departing {
    std::string pod;  ///< name of the pod
    std::string pod_uid;
    base::TimePoint since{};          ///< time of the deletion
    base::TimePoint leaving_since{};  ///< time at which the pod was asked to leave
  };

  /// Position of a waiting entry: in the queue's order, or parked at the scope that is full.
  struct Place {
    AdmissionOrder order;
    std::string parked_at{};  ///< scope ID; empty if ready, i.e. at most the cluster's total is known to block it
  };
  struct Idle {};
  struct Waiting {
    std::int32_t attempt = 1;
    Place place;
  };
  struct WaitingWithPodGroup {
    std::int32_t attempt = 1;
    std::optional<Place> place{};       ///< set for the first member only, which waits for all
    std::optional<Slot> no_capacity{};  ///< set after slots were free, but not capacity for all surge pods
  };
  struct Reserved {
    std::int32_t attempt = 1;
    bool paid = false;  ///< whether it took tokens of the rates
  };
  using Turn = std::variant<Idle, Waiting, WaitingWithPodGroup, Reserved>;

  AdmissionRequest request;  ///< request from which `scopes` was derived
  std::string uid;           ///< UID of the Evacuation; a re-created one starts over
  std::string pod_uid;
  base::TimePoint created{};
  AdmissionScopes::Ids scopes;
  bool shown = false;    ///< observe() has shown it and will report its removal
  bool began = false;    ///< an attempt has begun according to the store, so its claim on the pod is firm
  bool is_held = false;  ///< dry run, or suspended before it began: it may never move the pod
  bool is_manual = true;
  std::optional<Departing> departing{};
  std::optional<base::TimePoint> arrival_ends{};  ///< time from which a manual one no longer counts on its target node
  std::variant<Held, Abandoned> stored = Held::kNothing;
  Turn turn;
  Held counted = Held::kNothing;    ///< part currently counted in the scopes
  std::string counted_pod_group;    ///< PodGroup under which it was counted
  bool in_manual_arrivals = false;  ///< whether it is currently counted in ManualArrivals

  bool is_idle() const { return std::holds_alternative<Idle>(turn); }
  bool is_reserved() const { return std::holds_alternative<Reserved>(turn); }
  bool asks_with_pod_group() const { return std::holds_alternative<WaitingWithPodGroup>(turn); }
  bool holds_stored_slot() const { return stored_part() == Held::kSlot; }
  /// Whether its next attempt may begin, by the store or by this leader's decision.
  bool has_slot() const { return is_reserved() || holds_stored_slot(); }
  /// Whether the slot was granted for an attempt before `attempt`. REQUIRES: has_slot().
  bool ends_before(std::int32_t attempt) const {
    const auto* reserved = std::get_if<Reserved>(&turn);
    return !reserved || reserved->attempt < attempt;
  }
  Held stored_part() const {
    const Held* held = std::get_if<Held>(&stored);
    return held ? *held : Held::kNothing;
  }
  /// Part that it must count for.
  Held held() const { return is_reserved() ? Held::kSlot : stored_part(); }

  /// Returns nullptr if the entry itself does not wait.
  Place* place() {
    if (auto* waiting = std::get_if<Waiting>(&turn)) return &waiting->place;
    auto* with_pod_group = std::get_if<WaitingWithPodGroup>(&turn);
    return with_pod_group && with_pod_group->place ? &*with_pod_group->place : nullptr;
  }
  const Place* place() const { return const_cast<AdmissionEntry*>(this)->place(); }
  /// Removes the place. An entry that waits alone becomes Idle.
  void lose_place() {
    if (auto* with_pod_group = std::get_if<WaitingWithPodGroup>(&turn)) {
      with_pod_group->place.reset();
    } else if (std::holds_alternative<Waiting>(turn)) {
      turn = Idle{};
    }
  }
  /// Attempt that it requests a slot for. REQUIRES: it waits, alone or with its PodGroup.
  std::int32_t wanted_attempt() const {
    const auto* waiting = std::get_if<Waiting>(&turn);
    return waiting ? waiting->attempt : std::get<WaitingWithPodGroup>(turn).attempt;
  }
  /// Attempt that it requests or has reserved a slot for. REQUIRES: !is_idle().
  std::int32_t asked_attempt() const {
    const auto* reserved = std::get_if<Reserved>(&turn);
    return reserved ? reserved->attempt : wanted_attempt();
  }
};

}  // namespace controllers
