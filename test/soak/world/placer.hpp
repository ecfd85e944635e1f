#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "test/soak/dice.hpp"

namespace soak {

/// The way from the API server to the placement webhook, with moods.
class Placer {
 public:
  /// Asks the replica that the Service leads to; nullopt: it could not read the review.
  using Ask = std::function<std::optional<std::string>(std::string_view review)>;
  /// Has that replica take in what its watches bring.
  using Follow = std::function<void()>;

  /// Returns what it is like from now on.
  std::string change_mood(Dice& dice);
  void calm() { mood_ = Mood::kOpen; }
  /// Whoever answers knows what is stored, as far as the server tells it.
  bool follows() const { return mood_ != Mood::kLagging; }

  base::Result<std::string> answer(std::string_view review, const Follow& follow, const Ask& ask) const;

 private:
  enum class Mood { kOpen, kLagging, kRefused, kAnswersLost, kNonsense };
  Mood mood_ = Mood::kOpen;
};

}  // namespace soak
