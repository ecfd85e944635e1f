#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "test/soak/dice.hpp"

namespace soak {

/// The connection from the API server to the placement webhook, with changing behavior.
class Placer {
 public:
  /// Calls the replica behind the Service. Returns nullopt if it could not read the review.
  using Ask = std::function<std::optional<std::string>(std::string_view review)>;
  /// Makes the replica process its watch events.
  using Follow = std::function<void()>;

  /// Returns the new behavior in words.
  std::string change_mood(Dice& dice);
  void calm() { mood_ = Mood::kOpen; }
  /// Returns true if the answering replica has processed all watch events.
  bool follows() const { return mood_ != Mood::kLagging; }

  base::Result<std::string> answer(std::string_view review, const Follow& follow, const Ask& ask) const;

 private:
  enum class Mood { kOpen, kLagging, kRefused, kAnswersLost, kNonsense };
  Mood mood_ = Mood::kOpen;
};

}  // namespace soak
