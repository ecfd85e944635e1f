#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "controllers/operator/parts.hpp"

namespace controllers {

/// What is done once before the first reconcile of a leader. One thread at a time.
class LeaderStart {
 public:
  explicit LeaderStart(OperatorParts& parts) : parts_(parts) {}

  enum class Step {
    kWaits,  ///< for the caches, or for the new list
    kAsked,  ///< for a new list of the Evacuations, just now
    kBegun,  ///< this replica may act
  };
  /// The next step, without waiting: the caches are filled, and the Evacuations are listed anew. A half-open watch
  /// would hide what the predecessor admitted, and a whole set of slots would be granted again (I7).
  Step step();

  /// Until kBegun, or stopped.
  void wait(std::stop_token stop);

 private:
  void resume();

  OperatorParts& parts_;
  std::optional<std::uint64_t> relist_;  ///< of the Evacuations, by this leader
  bool resumed_ = false;
};

}  // namespace controllers
