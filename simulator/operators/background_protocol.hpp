#pragma once

#include <map>
#include <set>
#include <string>

#include "simulator/actor.hpp"
#include "simulator/api/server.hpp"
#include "simulator/journal.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Admission webhook of upstream's background protocol (wire-protocols.md#background-protocol). It denies the eviction
/// of a pod with the annotation request-evict-only with 429 "Eviction triggered evacuation …" and marks the pod
/// eviction-in-progress.
Webhook background_webhook(Store& store);

/// Owner behind that webhook. Some time after the mark it either moves the pod (deletes it; its controller creates
/// another) or gives up (removes the mark). Controlled by the pod's annotation behaviour::kBackground: "move=10s",
/// "fail=5s", "silent"; default move=5s.
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
  std::map<api::ObjectKey, std::string> marked_;  // with the UID
  Agenda<api::ObjectKey> agenda_;
};

}  // namespace simulator
