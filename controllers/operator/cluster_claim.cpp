#include "controllers/operator/cluster_claim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/sleep.hpp"
#include "base/text.hpp"
#include "base/time/steady_clock.hpp"

namespace controllers {
namespace {

using base::kv;
using kube::LeaseMove;

constexpr base::Duration::rep kNever = std::numeric_limits<base::Duration::rep>::min();
/// Limit for the holder's name, which is arbitrary text in the Lease.
constexpr std::size_t kMaxHolder = 256;
/// Retry delay while the serving installation is unknown, and after a write conflict.
constexpr base::milliseconds kRetryDelay{1'000};

constexpr std::array<std::pair<ClusterClaim::State, const char*>, 4> kStateNames = {{
    {ClusterClaim::State::kUnknown, "unknown"},
    {ClusterClaim::State::kOurs, "ours"},
    {ClusterClaim::State::kOthers, "others"},
    {ClusterClaim::State::kUnguarded, "unguarded"},
}};

kube::LeaderOptions lease_options(const ClusterClaimOptions& options) {
  return {.ns = options.ns,
          .name = ClusterClaim::kName,
          .identity = options.lease.to_string(),
          .lease_duration = options.lease_duration,
          .renew_deadline = options.renew_deadline,
          .retry_period = options.period};
}

}  // namespace

ClusterClaim::ClusterClaim(kube::Client& client, const base::Clock& clock, kube::EventSink& events,
                           base::Metrics& metrics, base::Log log, ClusterClaimOptions options, LocalClock local)
    : client_(client),
      clock_(clock),
      events_(events),
      metrics_(metrics),
      log_(log.with({kv("claim", options.ns + "/" + kName), kv("installation", options.lease.to_string())})),
      options_(std::move(options)),
      lease_(lease_options(options_)),
      local_(local ? std::move(local) : LocalClock([] { return base::SteadyClock().now().time_since_epoch(); })),
      acts_until_(kNever) {
  publish_state();
}

bool ClusterClaim::may_act() const {
  const State state = state_;
  return state == State::kUnguarded || (state == State::kOurs && local_().count() < acts_until_.load());
}

base::Status ClusterClaim::ready() const {
  if (may_act()) return base::Done{};
  const std::scoped_lock lock(mutex_);
  if (state_ != State::kOthers)
    return base::unavailable("it is unknown whether another installation serves this cluster");
  return base::unavailable(fmt::format(
      "another installation of Evacuator serves this cluster: {} (Lease {}/{}); this installation is inactive", holder_,
      options_.ns, kName));
}

base::Status ClusterClaim::read(base::Duration now) {
  kube::Request request = kube::get_request(kube::kLeases, {options_.ns, kName});
  request.timeout = options_.period;
  auto body = client_.call(request);
  const auto read_before = std::exchange(last_read_, now);
  if (!body && base::is_not_found(body.error())) {
    seen_.reset();
    renewed_.reset();
    lease_json_.clear();
    return base::Done{};
  }
  if (!body) last_read_ = read_before;
  if (!body) return std::move(body).error();
  auto record = kube::decode_lease(*body);
  if (!record) return std::move(record).error();
  const bool is_first = !seen_;
  const base::Duration changed_before = seen_ ? seen_->changed_at : base::Duration{};
  seen_ = kube::observe(seen_, *std::move(record), local_());
  lease_json_ = *std::move(body);
  // Another replica of this installation has renewed the Lease, at some time after our previous read.
  if (!is_first && seen_->changed_at != changed_before && read_before)
    renewed_ = std::max(renewed_.value_or(*read_before), *read_before);
  if (seen_->record.holder != lease_.identity) renewed_.reset();
  return base::Done{};
}

base::Status ClusterClaim::write(LeaseMove move, base::Duration now) {
  if (move != LeaseMove::kCreate && seen_->record.resource_version.empty())  // else the write would be unconditional
    return base::invalid("the server sent a Lease without resourceVersion");
  // A PUT also creates a Lease. Unlike a POST, its URL contains the name, so RBAC can restrict the right to one name.
  kube::Request request = kube::update_request(kube::kLeases, {options_.ns, kName},
                                               kube::next_lease(lease_json_, move, lease_, clock_.now()));
  request.timeout = options_.period;
  auto written = client_.call(request);
  if (!written) return std::move(written).error();
  auto record = kube::decode_lease(*written);
  if (!record) return std::move(record).error();
  seen_ = kube::observe(seen_, *std::move(record), local_());
  lease_json_ = *std::move(written);
  renewed_ = now;  // Counted from before the request was sent, which is the safe side.
  return base::Done{};
}

base::Status ClusterClaim::renew(base::Duration now) {
  const bool is_fresh = renewed_ && now - *renewed_ < 2 * base::Duration(options_.period);
  if (!is_fresh) {
    if (auto written = write(LeaseMove::kRenew, now); !written) return written;
  }
  acts_until_ = (*renewed_ + options_.renew_deadline).count();
  become(State::kOurs, lease_.identity);
  return base::Done{};
}

base::Status ClusterClaim::look(base::Duration now) {
  if (auto done = read(now); !done) return done;
  const LeaseMove move = kube::decide(seen_, lease_, state_ == State::kOurs, local_());
  switch (move) {
    case LeaseMove::kCreate:
    case LeaseMove::kAcquire:
      if (auto written = write(move, now); !written) return written;
      return renew(now);
    case LeaseMove::kRenew: return renew(now);
    case LeaseMove::kLost: acts_until_ = kNever; [[fallthrough]];
    case LeaseMove::kWait: become(State::kOthers, base::truncate_utf8(seen_->record.holder, kMaxHolder));
  }
  return base::Done{};
}

base::Duration ClusterClaim::step() {
  const base::Duration now = local_();
  const auto done = look(now);
  if (done) return state_ == State::kUnknown ? kRetryDelay : options_.period;
  const base::ErrorCode code = done.error().code;
  // A right that disappears after another installation was seen does not count as permission to act.
  const bool may_be_alone = state_ == State::kUnknown || state_ == State::kUnguarded;
  if (may_be_alone && (code == base::ErrorCode::kForbidden || code == base::ErrorCode::kNotFound)) {
    log_.debug("cannot create the installation Lease", {kv("error", done.error())});
    become(State::kUnguarded, "");
    return options_.period;
  }
  if (code == base::ErrorCode::kConflict || code == base::ErrorCode::kAlreadyExists)
    return kRetryDelay;  // another replica was faster
  log_.warning("cannot read or renew the installation Lease", {kv("error", done.error())});
  return state_ == State::kUnknown ? kRetryDelay : options_.period;
}

void ClusterClaim::run(std::stop_token stop) {
  while (!stop.stop_requested()) base::sleep_unless_stopped(step(), stop);
}

void ClusterClaim::become(State state, const std::string& holder) {
  const State before = state_.exchange(state);
  {
    const std::scoped_lock lock(mutex_);
    if (before == state && holder_ == holder) return;
    holder_ = holder;
  }
  publish_state();
  tell(before, state, holder);
}

void ClusterClaim::tell(State before, State after, const std::string& holder) {
  const auto publish = [&](kube::Event event) {
    events_.publish(std::move(event).about(kube::event_object(kube::kLeases, options_.lease, ""), "Claim"));
  };
  if (after == State::kOthers) {
    log_.error("another installation serves this cluster; this installation is inactive", {kv("holder", holder)});
    publish(kube::Event::warning(api::EventReason::kAnotherOperator,
                                 fmt::format("the installation {} serves this cluster (Lease {}/{}): this installation "
                                             "is inactive until the other one is gone",
                                             holder, options_.ns, kName)));
  } else if (after == State::kOurs) {
    log_.info("this installation serves the cluster");
    if (before == State::kOthers)
      publish(kube::Event::normal(api::EventReason::kClusterClaimed,
                                  "this installation serves the cluster: the other installation is gone"));
  } else if (after == State::kUnguarded) {
    log_.warning(
        "a second installation would not be detected: the operator may neither read nor create the Lease; apply "
        "config/rbac, or set leaderElection.claimNamespace to another namespace");
  }
}

void ClusterClaim::publish_state() const {
  const State now = state_;
  for (const auto& [state, name] : kStateNames) {
    metrics_
        .gauge("evacuator_cluster_claim",
               "1 for the current state of the installation Lease: ours, others, unguarded or unknown.",
               {{"state", name}})
        .set(state == now ? 1 : 0);
  }
}

}  // namespace controllers
