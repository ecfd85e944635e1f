#pragma once

#include <memory>
#include <mutex>

#include "base/clock.hpp"

namespace kube {

/// Keeps workers free for responsive servers. Of a small number of workers (four), at most three may call servers that
/// have never answered or whose last failure was slow, and at most two the latter. Thread-safe.
class SlowPeerLimiter {
 public:
  /// Health of one server. Used only by the limiter.
  class Peer {
    friend class SlowPeerLimiter;
    enum class PeerHealth { kNew, kProven, kStalled };
    PeerHealth health_ = PeerHealth::kNew;
  };

  /// Permission to call a peer, released by the destructor, also on exceptions.
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
    const Peer::PeerHealth health_;  ///< when the call began
    const base::TimePoint began_ = limiter_.clock_.now();
    bool answered_ = false;
  };

  /// `clock` must outlive the limiter.
  explicit SlowPeerLimiter(const base::Clock& clock) : clock_(clock) {}

  /// Returns a permit, or nullptr if too many workers already wait for slow peers. Retry after kRetryInterval.
  std::unique_ptr<Permit> take(Peer& peer) {
    const std::lock_guard lock(mutex_);
    if (peer.health_ == Peer::PeerHealth::kStalled && stalled_ >= kMaxStalled) return nullptr;
    if (peer.health_ != Peer::PeerHealth::kProven && stalled_ + new_ >= kMaxUnproven) return nullptr;
    count(peer.health_, 1);
    return std::make_unique<Permit>(*this, peer);
  }
  static constexpr base::seconds kRetryInterval{1};

 private:
  using PeerHealth = Peer::PeerHealth;
  static constexpr int kMaxStalled = 2;
  static constexpr int kMaxUnproven = 3;           ///< includes stalled peers
  static constexpr base::seconds kSlowFailure{1};  ///< a failure that takes longer blocks a worker

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
  int stalled_ = 0;  ///< number of stalled peers being called now
  int new_ = 0;      ///< number of new peers being called now
};

}  // namespace kube
