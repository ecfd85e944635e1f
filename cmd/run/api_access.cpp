#include "cmd/run/api_access.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/backoff.hpp"

namespace cmd {
namespace {

using base::kv;

constexpr base::Backoff kReconnect{base::milliseconds(500), base::seconds(10)};

}  // namespace

ApiAccess::ApiAccess(ProcessContext context, kube::Config cluster)
    : context_(std::move(context)),
      cluster_(std::move(cluster)),
      limiter_(context_.steady, {.qps = context_.config.qps, .burst = context_.config.burst}) {}

base::Status ApiAccess::open(std::function<bool()> may_act) {
  auto transport = kube::HttpTransport::create(cluster_);
  if (!transport) return transport.error();
  transport_ = *std::move(transport);
  metered_.emplace(*transport_, context_.metrics, context_.steady, context_.clock);
  client_.emplace(*metered_, &limiter_);
  acting_client_.emplace(*metered_, &limiter_, std::move(may_act));
  return base::Done{};
}

base::Result<kube::Discovery> ApiAccess::connect(const Interrupted& interrupted,
                                                 const std::function<bool()>& is_out_of_time) {
  for (int failures = 1; !interrupted.yet(); ++failures) {
    if (is_out_of_time()) return base::unavailable(waiting_for()).during("nothing was done");
    auto found = kube::discover(*client_);
    if (found && found->has_evacuations && found->has_policies) {
      context_.log.info("connected", {kv("server", cluster_.server), kv("version", found->server_version),
                                      kv("config", cluster_.source), kv("evictionVersion", found->eviction_version)});
      return found;
    }
    if (auto fatal = problem_of(found)) return *std::move(fatal);
    interrupted.wait(std::chrono::duration_cast<base::milliseconds>(base::backoff_delay(kReconnect, failures)));
  }
  return base::Error{base::ErrorCode::kCancelled, "stopped before the API server answered"};
}

/// Logs why the server cannot be used yet. Returns an error if retrying would not help.
std::optional<base::Error> ApiAccess::problem_of(const base::Result<kube::Discovery>& found) {
  if (found) {
    wait_for("the custom resources are not installed");
    context_.log.error("the custom resources are not installed: kubectl apply -k config/crd",
                       {kv("server", cluster_.server)});
  } else if (!base::is_retriable(found.error().code)) {
    return found.error().during("connecting to " + cluster_.server + " (" + cluster_.source + ")");
  } else {
    wait_for("the API server cannot be reached: " + found.error().message);
    context_.log.error("the API server cannot be reached", {kv("server", cluster_.server), kv("error", found.error())});
  }
  return std::nullopt;
}

void ApiAccess::wait_for(std::string what) {
  const std::scoped_lock lock(waiting_mutex_);
  waiting_for_ = std::move(what);
}

std::string ApiAccess::waiting_for() const {
  const std::scoped_lock lock(waiting_mutex_);
  return waiting_for_;
}

void ApiAccess::publish() {
  const kube::RateLimiter::Stats stats = limiter_.stats();
  context_.metrics.gauge("evacuator_client_waiting", "Number of requests that wait for the rate limit client.qps.")
      .set(static_cast<double>(stats.waiting));
  context_.metrics.gauge("evacuator_client_in_flight", "Number of requests that are sent and not answered yet.")
      .set(static_cast<double>(stats.in_flight));
  const double waited = std::chrono::duration<double>(stats.waited).count();
  context_.metrics
      .counter("evacuator_client_wait_seconds_total", "Time that requests waited for the rate limit client.qps.")
      .increment(std::max(0.0, waited - std::exchange(published_wait_, waited)));
}

void ApiAccess::shut_down() {
  limiter_.shut_down();
  transport_->shut_down();
}

}  // namespace cmd
