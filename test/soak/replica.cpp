#include "test/soak/replica.hpp"

namespace soak {
namespace {

/// Maximum number of polls per step, so that a watch with an endless stream of events does not block the others.
constexpr int kMaxPolls = 1000;

controllers::OperatorConfig configured_for(const Neighbours& neighbours) {
  controllers::OperatorConfig config = operator_config();
  config.webhook.enabled = neighbours.places_pods;
  config.webhook.allow_required = neighbours.allows_required;
  return config;
}

}  // namespace

kube::Discovery what_the_simulator_serves(bool native) {
  kube::Discovery found;
  found.server_version = "v1.36.0";
  found.eviction_version = "v1";
  found.has_evacuations = found.has_policies = true;
  found.has_native_evictions = native;
  return found;
}

controllers::OperatorConfig operator_config() {
  controllers::OperatorConfig config;
  config.responder_enabled = true;
  config.in_flight.per_namespace = api::IntOrPercent{4, false};
  return config;
}

Replica::Replica(simulator::ApiServer& server, const base::Clock& clock, std::string identity,
                 const Neighbours& neighbours)
    : wall(clock),
      transport(server, {kOurUser, {}, "evacuator"}),
      identity_(std::move(identity)),
      client_(transport, nullptr),
      events_(client_, clock, kube::EventOptions{.instance = identity_}, base::Log()),
      operator_({.client = client_,
                 .clock = wall,
                 .discovery = what_the_simulator_serves(neighbours.native),
                 .config = configured_for(neighbours),
                 .identity = identity_,
                 .may_act = [this] { return leads && !transport.dead(); },
                 .events = events_,
                 .metrics = metrics_,
                 .log = {},
                 .services = &neighbours.services,
                 .steady = &clock,
                 .gates = neighbours.gates,
                 .hints_in_force = [] { return true; }}) {}

void Replica::follow() {
  for (int i = 0; i < kMaxPolls && operator_.poll_caches(); ++i) {
  }
}

bool Replica::step() {
  if (transport.dead()) return false;
  const bool busy = operator_.step();
  if (!transport.dead()) events_.drain();
  return busy;
}

}  // namespace soak
