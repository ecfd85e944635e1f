#include "kube/runtime/leader_election.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "api/json/json_access.hpp"
#include "base/sleep.hpp"
#include "base/time/steady_clock.hpp"

namespace kube {
namespace {

constexpr base::seconds kMaxForeignLease{300};
constexpr base::milliseconds kMinTimeout{250};
constexpr base::Duration::rep kNever = std::numeric_limits<base::Duration::rep>::min();

/// Includes the time while the machine is suspended, because a Lease expires during it.
base::Duration time_since_boot() { return base::SteadyClock().now().time_since_epoch(); }

api::ObjectKey key_of(const LeaderOptions& options) { return {options.ns, options.name}; }

}  // namespace

std::optional<base::Error> check(const LeaderOptions& options) {
  if (options.identity.empty()) return base::invalid("leader election requires an identity");
  if (options.ns.empty() || options.name.empty())
    return base::invalid("leader election requires the Lease's namespace and name");
  if (options.retry_period.count() <= 0 || options.retry_period >= options.renew_deadline)
    return base::invalid("leader election: the retry period must be above zero and below the renew deadline");
  if (options.renew_deadline >= options.lease_duration)
    return base::invalid(
        "leader election: the renew deadline must be below the lease duration, otherwise two replicas could lead");
  return std::nullopt;
}

api::Json next_lease(const std::string& current, LeaseMove move, const LeaderOptions& options, base::TimePoint wall) {
  api::Json lease = api::Json::parse(current, nullptr, false);
  if (!lease.is_object()) lease = api::Json::object();
  lease["apiVersion"] = kLeases.api_version();
  lease["kind"] = kLeases.kind;
  for (const char* part : {"metadata", "spec"}) {
    if (!lease.contains(part) || !lease[part].is_object()) lease[part] = api::Json::object();
  }
  lease["metadata"]["name"] = options.name;
  lease["metadata"]["namespace"] = options.ns;
  const std::int64_t transitions = api::number_at(lease, {"spec", "leaseTransitions"}).value_or(0);
  api::Json& spec = lease["spec"];
  const std::string now = base::format_micro_time(wall);
  if (move == LeaseMove::kAcquire) spec["leaseTransitions"] = std::min<std::int64_t>(transitions + 1, 1'000'000'000);
  if (move == LeaseMove::kCreate) spec["leaseTransitions"] = 0;
  if (move != LeaseMove::kRenew) spec["acquireTime"] = now;
  spec["holderIdentity"] = options.identity;
  spec["leaseDurationSeconds"] = std::chrono::ceil<base::seconds>(options.lease_duration).count();
  spec["renewTime"] = now;
  return lease;
}

base::Result<LeaseRecord> decode_lease(std::string_view json) {
  const api::Json lease = api::Json::parse(json, nullptr, false);
  if (!lease.is_object()) return base::invalid("the Lease is not a JSON object");
  const auto spec_number = [&](std::string_view name, std::int64_t most) {
    return std::clamp<std::int64_t>(api::number_at(lease, {"spec", name}).value_or(0), 0, most);
  };
  LeaseRecord record;
  record.holder = api::text_at(lease, {"spec", "holderIdentity"});
  record.duration = base::seconds(spec_number("leaseDurationSeconds", 1'000'000));
  record.renew_time = api::text_at(lease, {"spec", "renewTime"});
  record.transitions = static_cast<int>(spec_number("leaseTransitions", 1'000'000'000));
  record.resource_version = api::text_at(lease, {"metadata", "resourceVersion"});
  return record;
}

SeenLease observe(const std::optional<SeenLease>& before, LeaseRecord now_read, base::Duration now) {
  // Compares only the holder's fields, because resourceVersion also changes when another client edits a label.
  const auto words = [](const LeaseRecord& r) { return std::tie(r.holder, r.renew_time, r.duration, r.transitions); };
  const bool same = before && words(before->record) == words(now_read);
  return {std::move(now_read), same ? before->changed_at : now};
}

LeaseMove decide(const std::optional<SeenLease>& seen, const LeaderOptions& options, bool leading, base::Duration now) {
  if (!seen) return LeaseMove::kCreate;
  if (seen->record.holder == options.identity) return LeaseMove::kRenew;
  if (leading) return LeaseMove::kLost;
  if (seen->record.holder.empty()) return LeaseMove::kAcquire;
  // The holder may be configured with a longer duration. The cap protects against invalid values.
  const base::Duration patience =
      std::max<base::Duration>(options.lease_duration, std::min(seen->record.duration, kMaxForeignLease));
  return now - seen->changed_at >= patience ? LeaseMove::kAcquire : LeaseMove::kWait;
}

LeaderElector::LeaderElector(Client& client, const base::Clock& clock, LeaderOptions options, Callbacks callbacks,
                             base::Log log, LocalClock local)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      log_(log.with({base::kv("lease", key_of(options_).to_string()), base::kv("identity", options_.identity)})),
      local_(local ? std::move(local) : LocalClock(&time_since_boot)),
      random_(std::hash<std::string>{}(options_.identity)),
      leading_until_(kNever) {}

bool LeaderElector::is_leading() const { return local_().count() < leading_until_.load(); }

std::string LeaderElector::leader() const {
  const std::scoped_lock lock(mutex_);
  return leader_;
}

/// Bounds the timeout, because no request may outlast the time at which this process must stop leading.
base::milliseconds LeaderElector::request_timeout(base::Duration now) const {
  base::Duration left = options_.renew_deadline / 2;
  if (leading_) left = std::min(left, base::Duration(leading_until_.load()) - now);
  return std::max(std::chrono::duration_cast<base::milliseconds>(left), kMinTimeout);
}

base::Status LeaderElector::read_lease(base::Duration now) {
  Request request = get_request(kLeases, key_of(options_));
  request.timeout = request_timeout(now);
  auto read = client_.call(request);
  if (!read && base::is_not_found(read.error())) {
    seen_.reset();
    lease_json_.clear();
    return base::Done{};
  }
  if (!read) return std::move(read).error();
  if (auto noted = note_lease(*std::move(read)); !noted) return noted;
  const std::scoped_lock lock(mutex_);
  leader_ = seen_->record.holder;
  return base::Done{};
}

base::Status LeaderElector::note_lease(std::string json) {
  auto record = decode_lease(json);
  if (!record) return std::move(record).error();
  // Local time after the call, not before it: assuming a later change is the safe side.
  seen_ = observe(seen_, *std::move(record), local_());
  lease_json_ = std::move(json);
  return base::Done{};
}

base::Status LeaderElector::write_lease(LeaseMove move, base::Duration now) {
  if (move != LeaseMove::kCreate && seen_->record.resource_version.empty())  // the write would be unconditional
    return base::invalid("the server sent a Lease without resourceVersion");
  const api::Json body = next_lease(lease_json_, move, options_, clock_.now());
  Request request = move == LeaseMove::kCreate ? create_request(kLeases, options_.ns, body)
                                               : update_request(kLeases, key_of(options_), body);
  request.timeout = request_timeout(now);
  auto written = client_.call(request);
  must_read_ = !written;  // also if the outcome is unknown
  if (!written) return std::move(written).error();
  if (auto noted = note_lease(*std::move(written)); !noted) return noted;
  // Counted from before the request, because no other process can have seen the renewal earlier.
  leading_until_ = (now + options_.renew_deadline).count();
  const std::scoped_lock lock(mutex_);
  leader_ = options_.identity;
  return base::Done{};
}

base::Status LeaderElector::act(LeaseMove move, base::Duration now) {
  switch (move) {
    case LeaseMove::kCreate:
    case LeaseMove::kAcquire:
    case LeaseMove::kRenew: return write_lease(move, now);
    case LeaseMove::kLost: leading_until_ = kNever; [[fallthrough]];
    case LeaseMove::kWait: must_read_ = true; return base::Done{};
  }
  std::abort();
}

void LeaderElector::note_leading(bool leading) {
  if (leading == leading_) return;
  leading_ = leading;
  log_.info(leading ? "became the leader" : "is no longer the leader", {base::kv("leader", leader())});
  const auto& told = leading ? callbacks_.started : callbacks_.stopped;
  if (told) told();
}

base::Duration LeaderElector::next_delay() {
  const double jitter = 0.2 * static_cast<double>(random_() >> 11) * 0x1.0p-53;
  auto delay = base::Duration(options_.retry_period);
  delay += base::Duration(static_cast<base::Duration::rep>(static_cast<double>(delay.count()) * jitter));
  if (!leading_) return delay;
  // Wakes at the deadline to report the end of leadership.
  return std::max<base::Duration>(std::min(delay, base::Duration(leading_until_.load()) - local_()),
                                  base::milliseconds(1));
}

base::Duration LeaderElector::step() {
  note_leading(is_leading());  // the deadline may have passed since the last step
  base::Status done = must_read_ ? read_lease(local_()) : base::Status(base::Done{});
  const base::Duration now = local_();
  if (done) done = act(decide(seen_, options_, leading_, now), now);
  if (!done) {
    must_read_ = true;
    log_.warning("cannot read or renew the Lease", {base::kv("error", done.error()), base::kv("leading", leading_)});
  }
  note_leading(is_leading());
  return next_delay();
}

void LeaderElector::release() {
  const bool ours = seen_ && seen_->record.holder == options_.identity && leading_;
  leading_until_ = kNever;
  note_leading(false);
  if (!ours || must_read_) return;
  api::Json body = next_lease(lease_json_, LeaseMove::kRenew, options_, clock_.now());
  body["spec"]["holderIdentity"] = "";
  body["spec"]["leaseDurationSeconds"] = 1;
  Request request = update_request(kLeases, key_of(options_), body);
  request.timeout = std::min<base::milliseconds>(options_.retry_period, base::milliseconds(2000));
  must_read_ = true;
  if (const auto released = client_.call(request); !released)
    log_.warning("cannot release the Lease", {base::kv("error", released.error())});
}

void LeaderElector::run(std::stop_token stop) {
  while (!stop.stop_requested()) base::sleep_unless_stopped(step(), stop);
  release();
}

}  // namespace kube
