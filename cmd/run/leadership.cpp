#include "cmd/run/leadership.hpp"

#include <chrono>
#include <stop_token>
#include <utility>

#include "cmd/run/threads.hpp"

namespace cmd {
namespace {

base::milliseconds in_milliseconds(base::Duration duration) {
  return std::chrono::duration_cast<base::milliseconds>(duration);
}

kube::LeaderOptions lease_of(const controllers::OperatorConfig& config, const std::string& identity) {
  const auto& chosen = config.leader_election;
  return {.ns = chosen.ns,
          .name = chosen.name,
          .identity = identity,
          .lease_duration = in_milliseconds(chosen.lease_duration),
          .renew_deadline = in_milliseconds(chosen.renew_deadline),
          .retry_period = in_milliseconds(chosen.retry_period)};
}

}  // namespace

Leadership::Leadership(ProcessContext context, kube::Client& client, kube::EventSink& events)
    : context_(std::move(context)),
      elector_(client, context_.clock, lease_of(context_.config, context_.identity),
               kube::LeaderElector::Callbacks{.started = [] {}, .stopped = [this] { lost_ = true; }}, context_.log) {
  const auto& chosen = context_.config.leader_election;
  if (chosen.claim_ns.empty()) return;
  installation_lease_ = std::make_unique<controllers::ClusterClaim>(
      client, context_.clock, events, context_.metrics, context_.log,
      controllers::ClusterClaimOptions{.ns = chosen.claim_ns,
                                       .lease = {chosen.ns, chosen.name},
                                       .lease_duration = in_milliseconds(4 * chosen.lease_duration),
                                       .renew_deadline = in_milliseconds(4 * chosen.renew_deadline),
                                       .period = in_milliseconds(4 * chosen.retry_period)});
}

void Leadership::start() {
  if (installation_lease_)
    installation_lease_thread_ =
        std::jthread([this](std::stop_token stop) { installation_lease_->run(std::move(stop)); });
  electing_ = std::jthread([this](std::stop_token stop) { elector_.run(std::move(stop)); });
}

void Leadership::end() {
  stop_and_join(electing_);
  stop_and_join(installation_lease_thread_);
}

}  // namespace cmd
