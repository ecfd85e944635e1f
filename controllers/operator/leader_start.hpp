#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

namespace controllers {

struct OperatorParts;

/// Steps that a new leader performs once before its first reconcile. Use from one thread at a time.
class LeaderStart {
 public:
  explicit LeaderStart(OperatorParts& parts) : parts_(parts) {}

  enum class Step {
    kWaits,  ///< Waiting for the caches or for the new list
    kAsked,  ///< A new list of the Evacuations was requested in this step
    kBegun,  ///< This replica may act
  };
  /// Performs the next step without waiting. The caches must be filled and the Evacuations listed again before acting.
  /// A half-open watch would hide what the predecessor admitted, and a full set of slots would be granted again (I7).
  Step step();

  /// Blocks until kBegun or until stopped.
  void wait(std::stop_token stop);

 private:
  OperatorParts& parts_;
  std::optional<std::uint64_t> relist_;  ///< Number of the relist of Evacuations that this leader requested
  bool resumed_ = false;
};

}  // namespace controllers
