#include "test/soak/world/placer.hpp"

namespace soak {

std::string Placer::change_mood(Dice& dice) {
  mood_ =
      dice.of<Mood>({Mood::kOpen, Mood::kOpen, Mood::kLagging, Mood::kRefused, Mood::kAnswersLost, Mood::kNonsense});
  static constexpr const char* kWords[] = {"open", "lagging", "refused", "losing its answers", "talking nonsense"};
  return std::string("the placement webhook is ") + kWords[static_cast<int>(mood_)];
}

base::Result<std::string> Placer::answer(std::string_view review, const Follow& follow, const Ask& ask) const {
  if (mood_ == Mood::kRefused) return base::unavailable("connection refused");
  if (follows()) follow();
  const auto said = ask(review);
  if (mood_ == Mood::kAnswersLost) return base::unavailable("context deadline exceeded");
  if (mood_ == Mood::kNonsense) return std::string("<html>");
  return said ? base::Result<std::string>(*said) : base::invalid("no AdmissionReview");
}

}  // namespace soak
