#include "kube/leader_election.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

namespace kube {
namespace {

using api::Json;

std::string text_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t number_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::int64_t whole_seconds(base::Duration duration) {
  return std::max<std::int64_t>(1, std::chrono::ceil<base::seconds>(duration).count());
}

bool has_expired(const LeaseView& view, base::TimePoint now) { return now - view.changed_at >= view.record->duration; }

/// A try may not hang longer than the Lease can bear.
base::milliseconds call_timeout(const LeaderElectionOptions& options) {
  return std::chrono::duration_cast<base::milliseconds>(std::max<base::Duration>(options.renew_deadline / 2, base::milliseconds(500)));
}

Request as_lease_request(Request request, const LeaderElectionOptions& options) {
  request.flow = Flow::kLease;
  request.timeout = call_timeout(options);
  return request;
}

}  // namespace

base::Result<LeaseRecord> decode_lease(std::string_view json) {
  const auto parsed = api::parse_json(json);
  if (!parsed) return parsed.error().during("reading the Lease");
  if (!parsed->is_object()) return base::invalid("the Lease is no object");
  LeaseRecord record;
  if (const auto meta = parsed->find("metadata"); meta != parsed->end() && meta->is_object()) {
    record.resource_version = text_member(*meta, "resourceVersion");
  }
  const auto spec = parsed->find("spec");
  if (spec == parsed->end() || !spec->is_object()) return record;
  record.holder = text_member(*spec, "holderIdentity");
  record.renew_time = text_member(*spec, "renewTime");
  record.transitions = number_member(*spec, "leaseTransitions");
  record.duration = base::seconds(std::clamp<std::int64_t>(number_member(*spec, "leaseDurationSeconds"), 0, 3600));
  return record;
}

LeaseMove next_lease_move(const LeaseView& view, const std::string& identity, base::TimePoint now) {
  if (!view.record) return LeaseMove::kCreate;
  if (view.record->holder == identity) return LeaseMove::kRenew;
  if (view.record->holder.empty() || has_expired(view, now)) return LeaseMove::kTake;
  return LeaseMove::kWait;
}

LeaderElector::LeaderElector(Client& client, const base::Clock& clock, LeaderElectionOptions options, base::Log log)
    : client_(client), clock_(clock), options_(std::move(options)), log_(log.with({base::kv("lease", options_.lease.to_string())})) {}

bool LeaderElector::is_leading() const { return clock_.now().time_since_epoch().count() < leads_until_.load(); }

void LeaderElector::take_note(LeaseRecord record, base::TimePoint now) {
  if (view_.record && *view_.record == record) return;
  view_ = {std::move(record), now};
}

bool LeaderElector::refresh(base::TimePoint now) {
  const auto text = client_.call(as_lease_request(get_request(kLeases, options_.lease), options_));
  if (!text) {
    if (base::is_not_found(text.error())) {
      view_ = {std::nullopt, now};
      return true;
    }
    log_.warning("the Lease cannot be read", {base::kv("error", text.error())});
    return false;
  }
  auto record = decode_lease(*text);
  if (!record) {
    log_.warning("the Lease cannot be read", {base::kv("error", record.error())});
    return false;
  }
  take_note(*std::move(record), now);
  return true;
}

api::Json LeaderElector::lease_body(LeaseMove move, base::TimePoint now) const {
  const bool takes_over = move != LeaseMove::kRenew;
  const std::int64_t transitions = view_.record ? view_.record->transitions + (takes_over ? 1 : 0) : 0;
  Json meta = {{"name", options_.lease.name}, {"namespace", options_.lease.ns}};
  if (view_.record) meta["resourceVersion"] = view_.record->resource_version;
  Json spec = {{"holderIdentity", options_.identity},
               {"leaseDurationSeconds", whole_seconds(options_.lease_duration)},
               {"renewTime", base::format_micro_time(now)},
               {"leaseTransitions", transitions}};
  if (takes_over) spec["acquireTime"] = base::format_micro_time(now);
  return {{"apiVersion", kLeases.api_version()}, {"kind", "Lease"}, {"metadata", std::move(meta)}, {"spec", std::move(spec)}};
}

bool LeaderElector::write(LeaseMove move, base::TimePoint now) {
  const Json body = lease_body(move, now);
  const Request request = move == LeaseMove::kCreate ? create_request(kLeases, options_.lease.ns, body)
                                                     : update_request(kLeases, options_.lease, body);
  const auto text = client_.call(as_lease_request(request, options_));
  if (!text) {
    const bool raced = text.error().code == base::ErrorCode::kConflict || text.error().code == base::ErrorCode::kAlreadyExists;
    if (raced) {
      log_.debug("another replica was faster", {base::kv("error", text.error())});
    } else {
      log_.warning("the Lease cannot be written", {base::kv("error", text.error())});
    }
    return false;
  }
  if (auto record = decode_lease(*text)) take_note(*std::move(record), now);
  // From the moment the request was sent: the others count from when they see it, which is later.
  leads_until_ = (now + options_.renew_deadline).time_since_epoch().count();
  return true;
}

bool LeaderElector::step() {
  if (!refresh(clock_.now())) return is_leading();
  const base::TimePoint now = clock_.now();
  const LeaseMove move = next_lease_move(view_, options_.identity, now);
  if (move != LeaseMove::kWait) {
    write(move, now);
  } else {
    leads_until_ = 0;  // somebody else holds it, whatever we believed
  }
  return is_leading();
}

void LeaderElector::wait(base::Duration how_long, std::stop_token stop) const {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, how_long, [] { return false; });
}

bool LeaderElector::acquire(std::stop_token stop) {
  std::string told;
  while (!stop.stop_requested()) {
    if (step()) {
      log_.info("leading", {base::kv("identity", options_.identity)});
      return true;
    }
    if (holder() != told) log_.info("waiting for the Lease", {base::kv("holder", told = holder())});
    wait(options_.retry_period, stop);
  }
  return false;
}

void LeaderElector::hold(std::stop_token stop) {
  while (!stop.stop_requested() && is_leading()) {
    wait(options_.retry_period, stop);
    if (!stop.stop_requested()) step();
  }
  if (!is_leading()) log_.error("the Lease is lost", {base::kv("holder", holder())});
}

void LeaderElector::release() {
  const bool was_ours = view_.record && view_.record->holder == options_.identity;
  leads_until_ = 0;
  if (!was_ours) return;
  Json body = lease_body(LeaseMove::kRenew, clock_.now());
  body["spec"]["holderIdentity"] = "";
  body["spec"]["leaseDurationSeconds"] = 1;
  const auto done = client_.call(as_lease_request(update_request(kLeases, options_.lease, body), options_));
  if (!done) log_.warning("the Lease could not be released", {base::kv("error", done.error())});
}

}  // namespace kube
