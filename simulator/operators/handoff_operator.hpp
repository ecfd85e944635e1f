#pragma once

#include <optional>
#include <set>
#include <string>

#include "simulator/actor.hpp"
#include "simulator/event_recorder.hpp"
#include "simulator/journal.hpp"
#include "simulator/operators/handoff_script.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Operator of stateful workloads in the simulated cluster. Responds to handoff requests according to the pods'
/// scripts.
class HandoffOperator final : public Actor {
 public:
  HandoffOperator(Store& store, EventRecorder& events, std::optional<HandoffScript> default_script);

  std::string_view name() const override { return "handoff-operator"; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override { return agenda_.next(); }

 private:
  bool look_at(const api::ObjectKey& key, base::TimePoint now);

  Store& store_;
  EventRecorder& events_;
  Journal journal_;
  HandoffOperatorState brain_;
  std::set<api::ObjectKey> dirty_;
  Agenda<api::ObjectKey> agenda_;
};

}  // namespace simulator
