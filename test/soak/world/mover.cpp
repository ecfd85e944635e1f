#include "test/soak/world/mover.hpp"

#include <fmt/format.h>

namespace soak {

using Lie = fakes::WebhookBehaviour::Lie;

evictors::CallResult Mover::send(const controllers::evacuation::ServiceCall& call, const kube::Request& request) {
  if (call.service != kName) return base::invalid("no such service");
  if (before_each_call) before_each_call(request);
  if (line_ == Line::kRefused) return base::unavailable("connection refused");
  const auto answer = service_.answer({request.method, request.path, request.query, {}, request.body, "10.0.0.9:1"});
  if (line_ == Line::kAnswersLost) return base::Error{base::ErrorCode::kOutcomeUnknown, "the connection broke"};
  return kube::Response{answer.status, answer.body, {}, answer.content_type};
}

std::string Mover::change_mood(Dice& dice) {
  static const std::vector<Lie> kLies = {
      Lie::kHtml,       Lie::kWrongToken,    Lie::kHuge,           Lie::kWrongTypes,   Lie::kWildProgress,
      Lie::kBackwards,  Lie::kForgets,       Lie::kServerError,    Lie::kIgnoresAbort, Lie::kRefusesAbort,
      Lie::kStartsAnew, Lie::kMovedButStays, Lie::kAcceptsNonsense};
  fakes::WebhookBehaviour behaviour;
  behaviour.takes = base::seconds(dice.between(0, 120));
  if (dice.one_in(4)) behaviour.aborting = base::seconds(dice.between(1, 60));
  if (dice.one_in(6)) behaviour.fails = "NoRoom";
  behaviour.retryable = dice.one_in(2);
  if (dice.one_in(3)) behaviour.lie = dice.of(kLies);
  service_.become(behaviour);
  line_ = dice.one_in(6) ? (dice.one_in(2) ? Line::kRefused : Line::kAnswersLost) : Line::kOpen;
  return fmt::format("the mover takes {}, fails '{}', lie {}, line {}", base::format_age(behaviour.takes),
                     behaviour.fails, static_cast<int>(behaviour.lie), static_cast<int>(line_));
}

void Mover::calm() {
  service_.become({});
  line_ = Line::kOpen;
}

}  // namespace soak
