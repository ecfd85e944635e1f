#pragma once

#include <memory>
#include <mutex>

#include "base/clock.hpp"

namespace kube {

/// Keeps workers free for servers that answer: of a few workers (four) at most three ask servers that never answered or
/// whose last failure was slow, and at most two of them the latter. Thread-safe.
class SlowPeerLimiter {
 public:
  /// What is known of one server. Belongs to the places.
  class Peer {
    friend class SlowPeerLimiter;
    enum class PeerHealth { kNew, kProven, kStalled };
    PeerHealth health_ = PeerHealth::kNew;
  };

  /// Left in any case, also when whoever asks throws.
  class Permit {
   public:
    Permit(SlowPeerLimiter& limiter, Peer& peer) : limiter_(limiter), peer_(peer), health_(peer.health_) {}
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;
    ~Permit() { limiter_.leave(*this); }
    void note_answer() { answered_ = true; }

   private:
    friend class SlowPeerLimiter;
    SlowPeerLimiter& limiter_;
    Peer& peer_;
    const Peer::PeerHealth health_;  ///< as of the beginning
    const base::TimePoint began_ = limiter_.clock_.now();
    bool answered_ = false;
  };

  /// `clock` must outlive it.
  explicit SlowPeerLimiter(const base::Clock& clock) : clock_(clock) {}

  /// A place to ask from; nullptr: others that keep workers waiting, too, have them all. Come again after kAgain.
  std::unique_ptr<Permit> take(Peer& peer) {
    const std::lock_guard lock(mutex_);
    if (peer.health_ == Peer::PeerHealth::kStalled && stalled_ >= kMaxStalled) return nullptr;
    if (peer.health_ != Peer::PeerHealth::kProven && stalled_ + new_ >= kMaxUnproven) return nullptr;
    count(peer.health_, 1);
    return std::make_unique<Permit>(*this, peer);
  }
  static constexpr base::seconds kAgain{1};

 private:
  using PeerHealth = Peer::PeerHealth;
  static constexpr int kMaxStalled = 2;
  static constexpr int kMaxUnproven = 3;           ///< stalled ones included
  static constexpr base::seconds kSlowFailure{1};  ///< one that takes longer holds a worker up

  void count(PeerHealth standing, int by) {
    if (standing == PeerHealth::kStalled) stalled_ += by;
    if (standing == PeerHealth::kNew) new_ += by;
  }
  void leave(const Permit& permit) {
    const std::lock_guard lock(mutex_);
    count(permit.health_, -1);
    if (permit.answered_) {
      permit.peer_.health_ = PeerHealth::kProven;
    } else if (clock_.now() - permit.began_ >= kSlowFailure) {
      permit.peer_.health_ = PeerHealth::kStalled;
    }
  }

  const base::Clock& clock_;
  std::mutex mutex_;
  int stalled_ = 0;  ///< that are being asked now
  int new_ = 0;      ///< the same
};

}  // namespace kube
