#include "test/soak/replica.hpp"

namespace soak {
namespace {

kube::Discovery what_the_simulator_serves(bool native) {
  kube::Discovery found;
  found.server_version = "v1.36.0";
  found.eviction_version = "v1";
  found.has_evacuations = found.has_policies = true;
  found.has_native_evictions = native;
  return found;
}

}  // namespace

controllers::OperatorConfig operator_config() {
  controllers::OperatorConfig config;
  config.responder_enabled = true;
  config.in_flight.per_namespace = api::IntOrPercent{4, false};
  return config;
}

Replica::Replica(simulator::ApiServer& server, const base::Clock& clock, std::string identity,
                 controllers::evacuation::ServiceCaller& services, bool native)
    : transport(server, {kOurUser, {}, "evacuator"}),
      client_(transport, nullptr),
      events_(client_, clock, kube::EventOptions{.instance = identity}, base::Log()),
      operator_({.client = client_,
                 .clock = clock,
                 .discovery = what_the_simulator_serves(native),
                 .config = operator_config(),
                 .identity = identity,
                 .may_act = [this] { return leads && !transport.dead(); },
                 .events = events_,
                 .metrics = metrics_,
                 .log = {},
                 .services = &services}) {}

bool Replica::step() {
  if (transport.dead()) return false;
  const bool busy = operator_.step();
  if (!transport.dead()) events_.drain();
  return busy;
}

}  // namespace soak
