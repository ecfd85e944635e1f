#pragma once

#include <memory>

#include "simulator/actor.hpp"
#include "simulator/api/server.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Admission webhook of upstream's background protocol (wire-protocols.md#background-protocol). It denies the eviction
/// of a pod with the annotation request-evict-only with 429 "Eviction triggered evacuation …" and marks the pod
/// eviction-in-progress.
Webhook background_webhook(Store& store);

/// Owner behind that webhook. Some time after the mark it either moves the pod (deletes it; its controller creates
/// another) or gives up (removes the mark). Controlled by the pod's annotation behaviour::kBackground: "move=10s",
/// "fail=5s", "silent"; default move=5s. The store must outlive the actor.
std::unique_ptr<Actor> make_background_mover(Store& store);

}  // namespace simulator
