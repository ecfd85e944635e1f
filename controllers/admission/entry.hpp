#pragma once

/// What the admission queue knows of one Evacuation. Internal to this folder.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.hpp"
#include "controllers/admission/request.hpp"
#include "controllers/admission/scopes.hpp"
#include "controllers/admission/slot.hpp"

namespace controllers {

/// Two states, one for each source, so that no combination can be written that means nothing:
///
///   stored    what the store shows: it holds nothing, the arrival part of a slot or a whole one (by its phase), or it
///             is Abandoned
///   turn      what this leader has decided about the attempt that is to begin, and the store does not show yet
///
///   Idle                 → Waiting, WaitingWithPodGroup   it asks, before an attempt or in one without a slot (T39)
///                        → Reserved                       it asks while it still holds the slot of its last attempt
///   Waiting              → Reserved                       every limit has free capacity
///                        → Idle                           withdrawn, abandoned, a duplicate, or cooling down
///   WaitingWithPodGroup  → Reserved                       slots and free capacity for all of them, in one step
///                        → Idle                           as above
///   Reserved             → Idle                           the store shows the attempt; or withdrawn, abandoned
///
/// A finished Evacuation has no entry. Nor has a deleted one, unless its pod was asked to leave: then it is Departing.
struct AdmissionEntry {
  /// What it counts for in its scopes; each includes the one before it.
  enum class Held {
    kNothing,
    kWorkload,  ///< Verifying, but it counts on no target node (any more)
    kArrival,   ///< Verifying: workload and target node
    kSlot,      ///< all of its scopes
  };
  /// Its state cannot be stored, as of this version: it holds nothing until the store shows another one.
  struct Abandoned {
    std::string resource_version;
  };

  /// It was deleted while its pod was being evicted: it holds its slot until the pod has left.
  struct Departing {
    std::string pod;  ///< name
    std::string pod_uid;
    base::TimePoint since{};          ///< when it was deleted
    base::TimePoint leaving_since{};  ///< when its pod was asked to leave
  };

  /// Where it waits: in the queue's order, or parked at the scope that is full.
  struct Place {
    AdmissionOrder order;
    std::string parked_at{};  ///< scope id; empty: ready, nothing narrower than the cluster's total is known to hold it
  };
  struct Idle {};
  struct Waiting {
    std::int32_t attempt = 1;
    Place place;
  };
  struct WaitingWithPodGroup {
    std::int32_t attempt = 1;
    std::optional<Place> place{};       ///< only of the first of them, which waits for all
    std::optional<Slot> no_capacity{};  ///< they had slots, but not free capacity for all surge pods
  };
  struct Reserved {
    std::int32_t attempt = 1;
    bool paid = false;  ///< took tokens of the rates
  };
  using Turn = std::variant<Idle, Waiting, WaitingWithPodGroup, Reserved>;

  AdmissionRequest request;  ///< what its scopes were derived from
  std::string uid;           ///< of the Evacuation: a deleted and re-made one starts over
  std::string pod_uid;
  base::TimePoint created{};
  AdmissionScopes::Ids scopes;
  bool shown = false;    ///< by observe(), which will tell when it goes
  bool began = false;    ///< some attempt, by the store: its claim on the pod stands
  bool is_held = false;  ///< a dry run, or suspended before it began: it may never move the pod
  bool is_manual = true;
  std::optional<Departing> departing{};
  std::optional<base::TimePoint> arrival_ends{};  ///< when a manual one counts on its target node no longer
  std::variant<Held, Abandoned> stored = Held::kNothing;
  Turn turn;
  Held counted = Held::kNothing;    ///< in the scopes, now
  std::string counted_pod_group;    ///< that it was counted with
  bool in_manual_arrivals = false;  ///< counted there, now

  bool is_idle() const { return std::holds_alternative<Idle>(turn); }
  bool is_reserved() const { return std::holds_alternative<Reserved>(turn); }
  bool asks_with_pod_group() const { return std::holds_alternative<WaitingWithPodGroup>(turn); }
  bool holds_stored_slot() const { return stored_part() == Held::kSlot; }
  /// Its next attempt may begin: by the store, or because we have decided so.
  bool has_slot() const { return is_reserved() || holds_stored_slot(); }
  Held stored_part() const {
    const Held* held = std::get_if<Held>(&stored);
    return held ? *held : Held::kNothing;
  }
  /// What it has to count for.
  Held held() const { return is_reserved() ? Held::kSlot : stored_part(); }

  /// nullptr: it does not wait itself.
  Place* place() {
    if (auto* waiting = std::get_if<Waiting>(&turn)) return &waiting->place;
    auto* with_pod_group = std::get_if<WaitingWithPodGroup>(&turn);
    return with_pod_group && with_pod_group->place ? &*with_pod_group->place : nullptr;
  }
  const Place* place() const { return const_cast<AdmissionEntry*>(this)->place(); }
  /// The place was taken away: one that waits for itself alone is Idle then.
  void lose_place() {
    if (auto* with_pod_group = std::get_if<WaitingWithPodGroup>(&turn)) {
      with_pod_group->place.reset();
    } else if (std::holds_alternative<Waiting>(turn)) {
      turn = Idle{};
    }
  }
  /// The attempt that it asks for. REQUIRES: it waits, alone or with its PodGroup.
  std::int32_t wanted_attempt() const {
    const auto* waiting = std::get_if<Waiting>(&turn);
    return waiting ? waiting->attempt : std::get<WaitingWithPodGroup>(turn).attempt;
  }
  /// The attempt that it asks for, or has a reservation for. REQUIRES: !is_idle().
  std::int32_t asked_attempt() const {
    const auto* reserved = std::get_if<Reserved>(&turn);
    return reserved ? reserved->attempt : wanted_attempt();
  }
};

}  // namespace controllers
