#pragma once

#include <map>
#include <set>
#include <string>

#include "simulator/actor.hpp"
#include "simulator/api/server.hpp"
#include "simulator/journal.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// The admission webhook of upstream's background protocol (wire-protocols.md#background-protocol): an eviction of a
/// pod with the annotation request-evict-only is answered with 429 "Eviction triggered evacuation …"; the pod is marked
/// eviction-in-progress.
Webhook background_webhook(Store& store);

/// The owner behind that webhook: some time after the mark it moves the pod (deletes it; its controller makes another)
/// or gives up (takes the mark off). By the pod's annotation behaviour::kBackground: "move=10s", "fail=5s",
/// "silent"; default move=5s.
class BackgroundMover final : public Actor {
 public:
  explicit BackgroundMover(Store& store);

  std::string_view name() const override { return "background-mover"; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override { return agenda_.next(); }

 private:
  void on_pod(const Change& change);
  bool finish(const api::ObjectKey& key);

  Store& store_;
  Journal journal_;
  base::TimePoint now_{};
  std::map<api::ObjectKey, std::string> marked_;  // with the uid
  Agenda<api::ObjectKey> agenda_;
};

}  // namespace simulator
