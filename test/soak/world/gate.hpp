#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "controllers/policy/gates/client.hpp"
#include "test/soak/dice.hpp"

namespace soak {

/// The server of the policies' gates with changing behavior, and the last answer to each replica.
class Gate {
 public:
  explicit Gate(const base::Clock& clock) : clock_(clock) {}

  /// Returns an entry of spec.gates that uses this server.
  static api::Json entry(Dice& dice);
  /// Returns the factory for the gate clients of this replica. This object must outlive it.
  controllers::GateClientFactory clients_of(const std::string& replica);

  /// Returns the new behavior in words.
  std::string change_mood(Dice& dice);
  void calm() { mood_ = Mood::kOpen; }

  /// Returns the time since which the replica knows from its last, still valid answer that a gate of the policy holds.
  /// Returns nullopt if it does not.
  std::optional<base::TimePoint> held_since(const std::string& replica, const std::string& policy) const;

 private:
  class Client;
  enum class Mood { kOpen, kHolds, kSilent, kNonsense };
  struct LastAnswer {
    bool holds = false;
    base::TimePoint since{};  ///< first answer of the current series that holds
    base::TimePoint last{};
  };
  base::Result<std::string> answer(const std::string& replica, const std::string& policy);

  const base::Clock& clock_;
  Mood mood_ = Mood::kOpen;
  std::map<std::pair<std::string, std::string>, LastAnswer>
      told_;  ///< by replica and policy, for those that were answered
};

}  // namespace soak
