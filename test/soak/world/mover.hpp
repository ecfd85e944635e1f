#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "controllers/evacuation/ports.hpp"
#include "test/fakes/webhook_service.hpp"
#include "test/soak/dice.hpp"

namespace soak {

/// The service of the evictor webhook in the same process, with randomly changing behavior.
class Mover final : public controllers::evacuation::ServiceCaller {
 public:
  static constexpr const char* kName = "mover";

  explicit Mover(const base::Clock& clock) : service_(clock, {}) {}

  std::string refusal(const controllers::evacuation::ServiceCall&) const override { return {}; }
  evictors::CallResult send(const controllers::evacuation::ServiceCall& call, const kube::Request& request) override;
  const std::vector<std::string>& names() const override { return names_; }

  /// Chooses another random behavior, mostly the correct one. Returns it in words.
  std::string change_mood(Dice& dice);
  /// Makes the service available and correct.
  void calm();

  /// Called with every request before it is answered.
  std::function<void(const kube::Request&)> before_each_call;

 private:
  enum class Line { kOpen, kRefused, kAnswersLost };

  const std::vector<std::string> names_ = {kName};
  fakes::WebhookService service_;
  Line line_ = Line::kOpen;
};

}  // namespace soak
