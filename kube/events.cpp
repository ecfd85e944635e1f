#include "kube/events.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace kube {
namespace {

constexpr std::size_t kMaxNote = 1024;
constexpr base::seconds kFarewell{2};
constexpr base::minutes kSweepEvery{5};

api::Json reference_to(const EventObject& object) {
  api::Json reference = {{"apiVersion", object.type.api_version()}, {"kind", std::string(object.type.kind)}, {"name", object.key.name}};
  if (!object.key.ns.empty()) reference["namespace"] = object.key.ns;
  if (!object.uid.empty()) reference["uid"] = object.uid;
  return reference;
}

std::string namespace_for(const EventObject& object) { return object.key.ns.empty() ? "default" : object.key.ns; }

/// At most kMaxNote bytes, not cut inside a character.
std::string cut_note(const std::string& note) {
  if (note.size() <= kMaxNote) return note;
  std::size_t end = kMaxNote - 3;
  while (end > 0 && (static_cast<unsigned char>(note[end]) & 0xC0) == 0x80) --end;
  return note.substr(0, end) + "...";
}

}  // namespace

api::Json event_json(const EventRecord& record, const std::string& name, std::string_view controller, std::string_view instance,
                     base::TimePoint now) {
  api::Json event = {{"apiVersion", kEvents.api_version()},
                     {"kind", "Event"},
                     {"metadata", {{"name", name}, {"namespace", namespace_for(record.regarding)}}},
                     {"eventTime", base::format_micro_time(now)},
                     {"reportingController", std::string(controller)},
                     {"reportingInstance", std::string(instance.substr(0, 128))},
                     {"type", record.warning ? "Warning" : "Normal"},
                     {"reason", record.reason.substr(0, 128)},
                     {"action", record.action.substr(0, 128)},
                     {"note", cut_note(record.note)},
                     {"regarding", reference_to(record.regarding)}};
  if (record.related) event["related"] = reference_to(*record.related);
  return event;
}

EventRecorder::EventRecorder(Client& client, const base::Clock& clock, EventRecorderOptions options, base::Log log)
    : client_(client), clock_(clock), options_(std::move(options)), log_(std::move(log)) {
  if (options_.threaded) thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

EventRecorder::~EventRecorder() { stop(); }

void EventRecorder::record(EventRecord record) {
  const std::scoped_lock lock(mutex_);
  if (closed_ || queue_.size() >= options_.queue_limit) {
    ++stats_.dropped;
    return;
  }
  queue_.push_back(std::move(record));
  wake_.notify_one();
}

std::optional<EventRecord> EventRecorder::next(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, stop, [&] { return !queue_.empty(); });
  if (queue_.empty()) return std::nullopt;
  EventRecord record = std::move(queue_.front());
  queue_.pop_front();
  return record;
}

void EventRecorder::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    if (const auto record = next(stop)) send(*record);
  }
  const base::TimePoint give_up = clock_.now() + kFarewell;
  while (clock_.now() < give_up) {
    const auto record = next(stop);
    if (!record) return;
    send(*record);
  }
}

void EventRecorder::pump() {
  std::stop_source stopped;
  stopped.request_stop();
  while (const auto record = next(stopped.get_token())) send(*record);
}

void EventRecorder::stop() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

EventRecorder::Stats EventRecorder::stats() const {
  const std::scoped_lock lock(mutex_);
  return stats_;
}

void EventRecorder::count(bool sent) {
  const std::scoped_lock lock(mutex_);
  ++(sent ? stats_.sent : stats_.dropped);
}

void EventRecorder::send(const EventRecord& record) {
  const base::TimePoint now = clock_.now();
  forget_old(now);
  const Key key = fmt::format("{}/{}/{}/{}/{}", record.regarding.type.plural, record.regarding.key.to_string(), record.regarding.uid,
                              record.reason, record.note);
  const auto known = series_.find(key);
  if (known != series_.end() && now - known->second.last < options_.series_window) {
    count(allowed(record, now) && send_again(known->second, now));
  } else {
    count(allowed(record, now) && send_first(record, key, now));
  }
}

bool EventRecorder::send_first(const EventRecord& record, const Key& key, base::TimePoint now) {
  const std::string ns = namespace_for(record.regarding);
  const auto ticks = static_cast<std::uint64_t>(now.time_since_epoch().count());
  const std::string name = fmt::format("{}.{:x}{:04x}", record.regarding.key.name.substr(0, 220), ticks, ++serial_ & 0xffff);
  const auto made = client_.create(
      kEvents, ns, event_json(record, name, options_.reporting_controller, options_.reporting_instance, now));
  if (!made) {
    log_.debug("event could not be recorded", {base::kv("reason", record.reason), base::kv("error", made.error())});
    return false;
  }
  series_[key] = {{ns, name}, 1, now};
  return true;
}

bool EventRecorder::send_again(Series& series, base::TimePoint now) {
  ++series.count;
  series.last = now;
  const auto patched = client_.patch(
      kEvents, series.event, PatchType::kMerge,
      {{"series", {{"count", series.count}, {"lastObservedTime", base::format_micro_time(now)}}}});
  if (!patched) log_.debug("event series could not be extended", {base::kv("error", patched.error())});
  return patched.ok();
}

bool EventRecorder::allowed(const EventRecord& record, base::TimePoint now) {
  const std::string object = fmt::format("{}/{}", record.regarding.type.plural, record.regarding.key.to_string());
  const auto [bucket, _] = buckets_.try_emplace(object, options_.per_object_qps, options_.per_object_burst);
  return bucket->second.try_take(now);
}

void EventRecorder::forget_old(base::TimePoint now) {
  if (now - swept_at_ < kSweepEvery) return;
  swept_at_ = now;
  std::erase_if(series_, [&](const auto& entry) { return now - entry.second.last >= options_.series_window; });
  buckets_.clear();  // a bucket that fills up again every few minutes still limits a storm
}

}  // namespace kube
