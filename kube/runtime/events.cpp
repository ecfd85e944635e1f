#include "kube/runtime/events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kube {
namespace {

constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMaxWord = 128;  // reason, action
constexpr std::size_t kMaxPrefix = 230;
constexpr std::size_t kMaxObjects = 4096;
constexpr base::milliseconds kEventTimeout{5'000};
constexpr base::milliseconds kSeriesCheck{1'000};  // interval while a series has unwritten repetitions
constexpr base::minutes kWarnEvery{1};
constexpr int kTries = 3;
constexpr const char* kSystemNamespace = "kube-system";

/// Returns at most `limit` bytes, truncated between UTF-8 characters.
std::string cut(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

api::Json reference_to(const EventObject& object) {
  api::Json reference = {{"apiVersion", object.api_version}, {"kind", object.kind}, {"name", object.name}};
  if (!object.ns.empty()) reference["namespace"] = object.ns;
  if (!object.uid.empty()) reference["uid"] = object.uid;
  return reference;
}

/// Returns true if an old server rejected the Event because of its namespace. It is retried in kube-system, so it is
/// not lost.
bool is_misplaced(const Event& event, const EventCorrelator& correlator, const base::Error& error) {
  return error.code == base::ErrorCode::kInvalid && event.regarding.ns.empty() &&
         correlator.cluster_scoped_namespace() != kSystemNamespace;
}

}  // namespace

EventObject event_object(const ResourceType& type, const api::ObjectMeta& meta) {
  return event_object(type, meta.key(), meta.uid);
}

EventObject event_object(const ResourceType& type, const api::ObjectKey& key, const std::string& uid) {
  return {type.api_version(), std::string(type.kind), key.ns, key.name, uid};
}

EventCorrelator::EventCorrelator(EventOptions options) : options_(std::move(options)) {}

bool EventCorrelator::is_within_rate(const EventObject& object, base::TimePoint now) {
  if (buckets_.size() >= kMaxObjects && !buckets_.contains(object)) buckets_.clear();  // bounds memory
  const auto at = buckets_.try_emplace(object, options_.per_object_qps, options_.per_object_burst).first;
  return at->second.try_take(now);
}

void EventCorrelator::evict_oldest_series() {
  if (series_.size() < options_.series_limit) return;
  const auto oldest = std::ranges::min_element(series_, {}, [](const auto& entry) { return entry.second.last; });
  by_key_.erase(oldest->second.key);
  series_.erase(oldest);
}

EventCorrelator::Correlation EventCorrelator::correlate(const Event& event, base::TimePoint now) {
  const Identity identity{event.regarding, event.related.value_or(EventObject{}), event.kind, event.reason,
                          event.action};
  const auto known = series_.find(identity);
  if (known != series_.end() && now - known->second.last <= options_.series_gap) {
    ++known->second.count;
    known->second.last = now;
    return Count{};
  }
  if (!is_within_rate(event.regarding, now)) return Drop{};
  if (known != series_.end()) forget(known->second.key);
  evict_oldest_series();
  // Upstream's naming scheme: the object's name and the time, so that names are unique.
  const auto stamp = static_cast<std::uint64_t>(now.time_since_epoch().count()) * 1000 + (sequence_++ % 1000);
  const api::ObjectKey key{event.regarding.ns.empty() ? cluster_scoped_ns_ : event.regarding.ns,
                           fmt::format("{}.{:x}", cut(event.regarding.name, kMaxPrefix), stamp)};
  series_[identity] = Series{event, key, now, now, now, 1, 1};
  by_key_[key] = identity;
  return Create{key};
}

bool EventCorrelator::has_unwritten_series() const {
  return std::ranges::any_of(series_, [](const auto& each) { return each.second.count != each.second.written_count; });
}

std::vector<api::ObjectKey> EventCorrelator::due_series(base::TimePoint now, bool all) {
  std::vector<api::ObjectKey> due;
  for (auto& [identity, series] : series_) {
    if (series.count == series.written_count) continue;
    if (!all && now - series.written < options_.series_write_interval) continue;
    series.written = now;
    series.written_count = series.count;
    due.push_back(series.key);
  }
  return due;
}

const EventCorrelator::Series* EventCorrelator::find(const api::ObjectKey& key) const {
  const auto at = by_key_.find(key);
  return at == by_key_.end() ? nullptr : &series_.at(at->second);
}

std::optional<std::string> EventCorrelator::body_of(const api::ObjectKey& key) const {
  const Series* series = find(key);
  if (series == nullptr) return std::nullopt;
  const Event& told = series->event;
  api::Json event = {{"apiVersion", kEvents.api_version()},
                     {"kind", kEvents.kind},
                     {"metadata", {{"name", key.name}, {"namespace", key.ns}}},
                     {"eventTime", base::format_micro_time(series->first)},
                     {"reportingController", options_.controller},
                     {"reportingInstance", cut(options_.instance.empty() ? "unknown" : options_.instance, kMaxWord)},
                     {"type", to_string(told.kind)},
                     {"reason", cut(told.reason, kMaxWord)},
                     {"action", cut(told.action.empty() ? told.reason : told.action, kMaxWord)},
                     {"note", cut(told.note, kMaxNote)},
                     {"regarding", reference_to(told.regarding)}};
  if (told.related) event["related"] = reference_to(*told.related);
  return api::to_json_text(event);
}

std::optional<std::string> EventCorrelator::series_patch_of(const api::ObjectKey& key) const {
  const Series* series = find(key);
  if (series == nullptr) return std::nullopt;
  return api::to_json_text(
      {{"series", {{"count", series->count}, {"lastObservedTime", base::format_micro_time(series->last)}}}});
}

const Event* EventCorrelator::event_of(const api::ObjectKey& key) const {
  const Series* series = find(key);
  return series == nullptr ? nullptr : &series->event;
}

void EventCorrelator::forget(const api::ObjectKey& key) {
  const auto at = by_key_.find(key);
  if (at == by_key_.end()) return;
  series_.erase(at->second);
  by_key_.erase(at);
}

EventRecorder::EventRecorder(Client& client, const base::Clock& clock, EventOptions options, base::Log log)
    : client_(client), clock_(clock), options_(std::move(options)), log_(std::move(log)), correlator_(options_) {}

void EventRecorder::add(std::uint64_t Stats::*counter, std::uint64_t by) {
  const std::scoped_lock lock(mutex_);
  stats_.*counter += by;
}

void EventRecorder::publish(Event event) {
  if (event.also_on_related && event.related) {
    Event mirrored = event;
    std::swap(mirrored.regarding, *mirrored.related);
    enqueue(std::move(event));
    return enqueue(std::move(mirrored));
  }
  enqueue(std::move(event));
}

void EventRecorder::enqueue(Event event) {
  const std::scoped_lock lock(mutex_);
  ++stats_.published;
  if (queue_.size() >= options_.queue_limit) {
    ++stats_.dropped;
    return;
  }
  queue_.push_back(std::move(event));
  arrived_.notify_one();
}

/// Waits for an Event. Returns nullopt if a series may be due, or when stopped.
std::optional<Event> EventRecorder::next(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const auto has_news = [this] { return !queue_.empty(); };
  if (stop.stop_possible() && correlator_.has_unwritten_series()) {
    arrived_.wait_for(lock, stop, kSeriesCheck, has_news);
  } else if (stop.stop_possible()) {
    arrived_.wait(lock, stop, has_news);
  }
  if (queue_.empty()) return std::nullopt;
  std::optional<Event> event = std::move(queue_.front());
  queue_.pop_front();
  return event;
}

void EventRecorder::pause(int tried) {
  if (!stop_.stop_possible()) return;  // virtual time
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, stop_, base::milliseconds(250) * tried, [] { return false; });
}

/// Retries retriable errors. After a final error the series is dropped, because the server does not have it.
base::Status EventRecorder::send(const Request& request, const api::ObjectKey& key) {
  for (int tried = 1;; ++tried) {
    const auto sent = client_.call(request);
    // AlreadyExists after a lost answer: the first try created the Event.
    const bool there = !sent && sent.error().code == base::ErrorCode::kAlreadyExists && tried > 1;
    if (sent || there) {
      add(&Stats::sent);
      return base::Done{};
    }
    if (patient_ && tried < kTries && base::is_retriable(sent.error().code)) {
      pause(tried);
      continue;
    }
    const Event* event = correlator_.event_of(key);
    if (!event || !is_misplaced(*event, correlator_, sent.error())) log_lost(key, sent.error());
    correlator_.forget(key);  // the Event expired after its hour or was never stored
    return sent.error();
  }
}

/// Limits warnings, because a role without permission for Events would flood the log.
void EventRecorder::log_lost(const api::ObjectKey& key, const base::Error& error) {
  const Event* event = correlator_.event_of(key);
  const std::string kind = event ? event->regarding.kind : "";
  const std::string reason = event ? event->reason : "";
  if (warned_.size() >= kMaxObjects) warned_.clear();
  const base::TimePoint now = clock_.now();
  const auto [last, is_first] = warned_.try_emplace({kind, reason, key.ns}, now);
  const bool was_lately = !is_first && now >= last->second && now - last->second < kWarnEvery;
  const auto tell = was_lately ? &base::Log::debug : &base::Log::warning;
  if (!was_lately) last->second = now;
  (log_.*tell)("an event could not be published", {base::kv("event", key.to_string()), base::kv("kind", kind),
                                                   base::kv("reason", reason), base::kv("error", error)});
}

base::Status EventRecorder::create(const Event& event, const api::ObjectKey& key) {
  auto body = correlator_.body_of(key);
  if (!body) return base::Done{};
  Request request = create_request(kEvents, key.ns, {});
  request.body = *std::move(body);
  request.timeout = kEventTimeout;
  const base::Status sent = send(request, key);
  if (!sent && is_misplaced(event, correlator_, sent.error())) {
    correlator_.move_cluster_scoped(kSystemNamespace);
    return handle(event);
  }
  if (!sent) add(&Stats::failed);
  return sent;
}

base::Status EventRecorder::write_series(bool all) {
  for (const api::ObjectKey& key : correlator_.due_series(clock_.now(), all)) {
    auto patch = correlator_.series_patch_of(key);
    if (!patch) continue;
    Request request = patch_request(kEvents, key, PatchType::kMerge, {});
    request.body = *std::move(patch);
    request.timeout = kEventTimeout;
    const base::Status sent = send(request, key);
    if (sent) continue;
    add(&Stats::failed);
    if (!patient_) return sent;
  }
  return base::Done{};
}

base::Status EventRecorder::handle(const Event& event) {
  return std::visit(base::Overload{
                        [&](const EventCorrelator::Create& made) { return create(event, made.key); },
                        [](const EventCorrelator::Count&) { return base::Status(base::Done{}); },
                        [&](const EventCorrelator::Drop&) { return add(&Stats::dropped), base::Status(base::Done{}); },
                    },
                    correlator_.correlate(event, clock_.now()));
}

void EventRecorder::drain() {
  while (const auto event = next({})) (void)handle(*event);  // errors are counted and logged
  (void)write_series(false);
}

void EventRecorder::run(std::stop_token stop) {
  stop_ = stop;
  while (!stop.stop_requested()) {
    if (const auto event = next(stop)) (void)handle(*event);
    (void)write_series(false);
  }
  patient_ = false;
  while (const auto event = next({})) {
    if (const auto sent = handle(*event); !sent && base::is_retriable(sent.error().code)) return;  // server unreachable
  }
  (void)write_series(true);
}

EventRecorder::Stats EventRecorder::stats() const {
  const std::scoped_lock lock(mutex_);
  return stats_;
}

}  // namespace kube
