#pragma once

#include <memory>
#include <mutex>

#include "base/clock.hpp"

namespace kube {

/// Keeps workers free for servers that answer: of a few workers (four) at most three ask servers that never answered or
/// whose last failure was slow, and at most two of them the latter. Thread-safe.
class AskingPlaces {
 public:
  /// What is known of one server. Belongs to the places.
  class Asked {
    friend class AskingPlaces;
    enum class Standing { kNew, kProven, kStalled };
    Standing standing_ = Standing::kNew;
  };

  /// Left in any case, also when whoever asks throws.
  class Place {
   public:
    Place(AskingPlaces& places, Asked& asked) : places_(places), asked_(asked), standing_(asked.standing_) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { places_.leave(*this); }
    void note_answer() { answered_ = true; }

   private:
    friend class AskingPlaces;
    AskingPlaces& places_;
    Asked& asked_;
    const Asked::Standing standing_;  ///< as of the beginning
    const base::TimePoint began_ = places_.clock_.now();
    bool answered_ = false;
  };

  /// `clock` must outlive it.
  explicit AskingPlaces(const base::Clock& clock) : clock_(clock) {}

  /// A place to ask from; nullptr: others that keep workers waiting, too, have them all. Come again after kAgain.
  std::unique_ptr<Place> take(Asked& asked) {
    const std::lock_guard lock(mutex_);
    if (asked.standing_ == Asked::Standing::kStalled && stalled_ >= kMostStalled) return nullptr;
    if (asked.standing_ != Asked::Standing::kProven && stalled_ + new_ >= kMostUnproven) return nullptr;
    count(asked.standing_, 1);
    return std::make_unique<Place>(*this, asked);
  }
  static constexpr base::seconds kAgain{1};

 private:
  using Standing = Asked::Standing;
  static constexpr int kMostStalled = 2;
  static constexpr int kMostUnproven = 3;          ///< stalled ones included
  static constexpr base::seconds kSlowFailure{1};  ///< one that takes longer holds a worker up

  void count(Standing standing, int by) {
    if (standing == Standing::kStalled) stalled_ += by;
    if (standing == Standing::kNew) new_ += by;
  }
  void leave(const Place& place) {
    const std::lock_guard lock(mutex_);
    count(place.standing_, -1);
    if (place.answered_) {
      place.asked_.standing_ = Standing::kProven;
    } else if (clock_.now() - place.began_ >= kSlowFailure) {
      place.asked_.standing_ = Standing::kStalled;
    }
  }

  const base::Clock& clock_;
  std::mutex mutex_;
  int stalled_ = 0;  ///< that are being asked now
  int new_ = 0;      ///< the same
};

}  // namespace kube
