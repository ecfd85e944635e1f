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

/// The server that policies' gates ask, with moods; and what each replica has heard from it.
class Gate {
 public:
  explicit Gate(const base::Clock& clock) : clock_(clock) {}

  /// An entry of spec.gates that asks this server.
  static api::Json entry(Dice& dice);
  /// How the gates of that replica ask it. Outlived by this.
  controllers::GateClientFactory clients_of(const std::string& replica);

  /// Returns what it is like from now on.
  std::string change_mood(Dice& dice);
  void calm() { mood_ = Mood::kOpen; }

  /// Since when the replica knows that a gate of the policy holds: its last answer said so, and still counts. nullopt:
  /// it does not know that.
  std::optional<base::TimePoint> held_since(const std::string& replica, const std::string& policy) const;

 private:
  class Client;
  enum class Mood { kOpen, kHolds, kSilent, kNonsense };
  struct LastAnswer {
    bool holds = false;
    base::TimePoint since{};  ///< of the first one in a row that said so
    base::TimePoint last{};
  };
  base::Result<std::string> answer(const std::string& replica, const std::string& policy);

  const base::Clock& clock_;
  Mood mood_ = Mood::kOpen;
  std::map<std::pair<std::string, std::string>, LastAnswer>
      told_;  ///< by replica and policy; an entry: it was answered
};

}  // namespace soak
