#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>

#include "base/sleep.hpp"
#include "kube/classify.hpp"
#include "kube/runtime/informer.hpp"
#include "kube/runtime/reflector_state.hpp"

namespace kube {
namespace {

// Interval at which a waiting reflector checks its idle time, because a manual clock does not wake it. A stop or relist
// ends the wait immediately.
constexpr base::milliseconds kMaxPollInterval{1000};
// Interval for a watch that has been open for some time and is silent. New lines, a stop or a relist end the wait
// immediately.
constexpr base::milliseconds kMaxSilence{10'000};
constexpr base::Duration kAtOnce = base::seconds(1);
// Limits of a streamed list: maximum silence, and maximum total duration.
constexpr base::Duration kMaxListSilence = base::seconds(10);
constexpr base::Duration kMaxList = base::minutes(5);
constexpr const char* kInitialEventsEnd = "k8s.io/initial-events-end";  // an annotation of the bookmark

/// Returns true for errors about the request itself, which an identical retry would not fix.
bool is_refusal(base::ErrorCode code) {
  return code == base::ErrorCode::kInvalid || code == base::ErrorCode::kForbidden ||
         code == base::ErrorCode::kNotFound || code == base::ErrorCode::kUnsupported;
}

std::string hint_for(const base::Error& error, const ResourceType& type) {
  if (error.code == base::ErrorCode::kForbidden)
    return "grant the operator's role the verbs list and watch on " + std::string(type.plural);
  if (error.code == base::ErrorCode::kNotFound)
    return "the server does not serve " + type.api_version() + "/" + std::string(type.plural) +
           "; is its CRD installed?";
  if (error.code == base::ErrorCode::kUnauthorized) return "the server rejects the credentials; are they expired?";
  return "will be retried";
}

}  // namespace

struct Reflector::Impl {
  Impl(Client& client_in, const base::Clock& clock_in, ResourceType type_in, ReflectorOptions options_in,
       ReflectorSink& sink_in, base::Log log_in)
      : client(client_in),
        clock(clock_in),
        type(type_in),
        options(std::move(options_in)),
        sink(sink_in),
        log(log_in.with({base::kv("resource", type.plural)})),
        random(options.jitter_seed),
        contact_at(clock.now().time_since_epoch().count()) {}

  Client& client;
  const base::Clock& clock;
  const ResourceType type;
  const ReflectorOptions options;
  ReflectorSink& sink;
  const base::Log log;

  // The members below are used only by the thread in run() or poll().
  ReflectorState state = NeedsList{};
  std::unique_ptr<WatchStream> stream;
  std::function<void()> news;     // if empty, the reflector waits for the stream
  bool stream_tells = false;      // the stream calls `news`
  base::TimePoint not_before{};   // end of the backoff
  base::TimePoint opened_at{};    // time when the watch was opened
  base::TimePoint heard_at{};     // time of the watch's last line
  std::uint64_t list_ticket = 0;  // relist ticket that the streamed list satisfies
  std::mt19937_64 random;
  std::stop_token stop;

  std::atomic<bool> synced = false;
  std::atomic<std::uint64_t> relists_wanted = 0;
  std::atomic<std::uint64_t> relists_done = 0;
  std::atomic<base::Duration::rep> contact_at;
  mutable std::mutex mutex;
  std::optional<base::Error> last_error;  // guarded by mutex
  WatchStream* cancellable = nullptr;     // guarded by mutex; the stream that a stop must wake

  double draw() { return static_cast<double>(random() >> 11) * 0x1.0p-53; }

  /// Returns true if there is a stream to read.
  bool is_reading() const {
    return std::holds_alternative<Watching>(state) || std::holds_alternative<Streaming>(state);
  }
  /// Returns true if a relist was requested after the current or running list began.
  bool is_relist_due() const {
    return relists_wanted != (std::holds_alternative<Streaming>(state) ? list_ticket : relists_done.load());
  }

  base::milliseconds longest_wait() const;
  bool step(base::milliseconds wait);
  base::Result<api::ListMeta> list_items();
  void list();
  bool open_list();
  void finish_list(const std::string& version, std::uint64_t ticket);
  void fail_list(const base::Error& error);
  bool is_overdue(base::TimePoint now) const;
  void apply_initial(const api::WatchLine& event);
  void apply_bookmark(const api::WatchLine& event);
  base::Result<std::unique_ptr<WatchStream>> ask_for_watch(const ListOptions& from);
  void attach(std::unique_ptr<WatchStream> opened);
  bool end_stream(const base::Error& error, base::TimePoint now);
  void open_watch();
  bool read_watch(base::milliseconds wait);
  bool read_line(base::milliseconds wait);
  void apply_line(const std::string& line);
  void apply_event(const api::WatchLine& event);
  void advance(const ReflectorInput& input);
  void close_stream();
  void note_contact();
  void note_news() { contact_at = clock.now().time_since_epoch().count(); }
  void begin_relist();
  void note_failure(std::string_view doing, const base::Error& error);
  void cancel_stream();
};

/// Performs the transition. Starts a jittered backoff after a failed step.
void Reflector::Impl::advance(const ReflectorInput& input) {
  const int before = failures_of(state);
  state = next_state(state, input);
  const int after = failures_of(state);
  if (!is_reading()) close_stream();
  if (after <= before) return;
  not_before = clock.now() + reflector_backoff(after, options.backoff_min, options.backoff_max, draw());
}

void Reflector::Impl::note_contact() {
  const std::scoped_lock lock(mutex);
  last_error.reset();
}

void Reflector::Impl::note_failure(std::string_view doing, const base::Error& error) {
  {
    const std::scoped_lock lock(mutex);
    const bool told = last_error && last_error->code == error.code;
    last_error = error.during(doing);
    if (told) return log.debug("the cache is still out of date", {base::kv("error", *last_error)});
  }
  log.warning("the cache is out of date",
              {base::kv("error", error.during(doing)), base::kv("hint", hint_for(error, type))});
}

void Reflector::Impl::close_stream() {
  {
    const std::scoped_lock lock(mutex);
    cancellable = nullptr;
  }
  stream.reset();
}

void Reflector::Impl::cancel_stream() {
  const std::scoped_lock lock(mutex);
  if (cancellable != nullptr) cancellable->cancel();
}

base::Result<api::ListMeta> Reflector::Impl::list_items() {
  ListOptions page = options.list;
  page.limit = page_limit(std::get<NeedsList>(state), options.list.limit);
  const auto each = [this](std::string_view item) -> base::Status {
    if (stop.stop_requested()) return base::Error{base::ErrorCode::kCancelled, "stopped"};
    sink.upsert(item);
    return base::Done{};
  };
  const bool is_first = !synced && relists_wanted == 0 && failures_of(state) == 0;
  if (options.starts_from_cache && is_first) {
    auto listed = client.list_cached(type, page, each);
    if (listed || listed.error().code != base::ErrorCode::kUnsupported) return listed;
    log.debug("listing page by page", {base::kv("error", listed.error())});
    sink.begin_list();  // discards the items streamed so far
  }
  return client.list(type, page, each);
}

void Reflector::Impl::list() {
  const bool may_stream = options.streamed_lists && options.streamed_lists->are_served() && failures_of(state) == 0;
  if (may_stream && open_list()) return;
  const std::uint64_t wanted = relists_wanted;
  sink.begin_list();
  const auto listed = list_items();
  if (!listed) return fail_list(listed.error());
  finish_list(listed->resource_version, wanted);
}

void Reflector::Impl::finish_list(const std::string& version, std::uint64_t ticket) {
  sink.end_list();
  synced = true;
  relists_done = ticket;
  note_contact();
  note_news();
  log.debug("listed", {base::kv("resourceVersion", version)});
  advance(Listed{version});
}

void Reflector::Impl::fail_list(const base::Error& error) {
  if (error.code != base::ErrorCode::kCancelled) note_failure("listing", error);
  advance(ListFailed{error});
}

base::Result<std::unique_ptr<WatchStream>> Reflector::Impl::ask_for_watch(const ListOptions& from) {
  const auto timeout = std::chrono::duration_cast<base::seconds>(options.watch_timeout * (1 + draw()));
  return client.watch(type, from, timeout);
}

void Reflector::Impl::attach(std::unique_ptr<WatchStream> opened) {
  stream = std::move(opened);
  {
    const std::scoped_lock lock(mutex);
    cancellable = stream.get();
    if (stop.stop_requested()) stream->cancel();  // the stop came before the stream existed
  }
  auto* const source = dynamic_cast<ReadinessSource*>(stream.get());
  stream_tells = news && source != nullptr && source->on_news(news);
  opened_at = heard_at = clock.now();
}

/// Opens a list as the beginning of a watch. Returns false if the server does not support it, so that the caller lists
/// page by page.
bool Reflector::Impl::open_list() {
  list_ticket = relists_wanted;
  ListOptions whole = options.list;
  whole.send_initial_events = true;
  auto opened = ask_for_watch(whole);
  if (opened) {
    sink.begin_list();
    advance(ListOpened{});
    attach(*std::move(opened));
    return true;
  }
  if (!is_refusal(opened.error().code)) {
    fail_list(opened.error());
    return true;
  }
  log.debug("the list is not sent as a watch", {base::kv("error", opened.error())});
  if (opened.error().code == base::ErrorCode::kInvalid) options.streamed_lists->give_up();
  return false;
}

void Reflector::Impl::open_watch() {
  ListOptions from = options.list;
  from.resource_version = std::get<MustWatch>(state).resource_version;
  auto opened = ask_for_watch(from);
  if (!opened) {
    if (opened.error().code != base::ErrorCode::kGone) note_failure("watching", opened.error());
    return advance(WatchRefused{opened.error()});
  }
  attach(*std::move(opened));
  note_contact();
  // A watch that the server repeatedly opens and immediately ends is not contact.
  if (failures_of(state) == 0) note_news();
  advance(WatchOpened{});
}

void Reflector::Impl::apply_event(const api::WatchLine& event) {
  if (event.type == "ERROR") {
    const base::Error error = error_of_status(event.object);
    if (error.code != base::ErrorCode::kGone) note_failure("watching", error);
    return advance(ServerError{error});
  }
  note_news();
  if (event.type == "DELETED") {
    sink.remove(event.object);
  } else if (event.type == "ADDED" || event.type == "MODIFIED") {
    sink.upsert(event.object);
  } else if (event.type != "BOOKMARK") {
    return advance(Malformed{});
  }
  const auto meta = api::decode_meta(event.object);
  advance(Changed{meta ? meta->resource_version : std::string()});
}

/// Applies an event of a streamed list: an existing object, or a change during the list.
void Reflector::Impl::apply_initial(const api::WatchLine& event) {
  if (event.type == "ERROR") return fail_list(error_of_status(event.object));
  if (event.type == "BOOKMARK") return apply_bookmark(event);
  if (event.type == "DELETED") return sink.remove(event.object);
  if (event.type == "ADDED" || event.type == "MODIFIED") return sink.upsert(event.object);
  fail_list(base::unavailable("unknown type of watch event: " + event.type));
}

void Reflector::Impl::apply_bookmark(const api::WatchLine& event) {
  const auto meta = api::decode_meta(event.object);
  if (!meta) return fail_list(meta.error());
  if (meta->annotations.value(kInitialEventsEnd) != "true") return;
  if (meta->resource_version.empty()) return fail_list(base::unavailable("the end of the list has no version"));
  finish_list(meta->resource_version, list_ticket);
}

void Reflector::Impl::apply_line(const std::string& line) {
  const auto event = api::split_watch_line(line);
  const bool is_list = std::holds_alternative<Streaming>(state);
  if (event) return is_list ? apply_initial(*event) : apply_event(*event);
  if (is_list) return fail_list(base::unavailable(event.error().message));
  note_failure("reading a watch event", event.error());
  advance(Malformed{});
}

/// Returns true if a streamed list exceeds one of its limits.
bool Reflector::Impl::is_overdue(base::TimePoint now) const {
  return std::holds_alternative<Streaming>(state) && (now - heard_at >= kMaxListSilence || now - opened_at >= kMaxList);
}

/// Always returns true.
bool Reflector::Impl::end_stream(const base::Error& error, base::TimePoint now) {
  if (is_relist_due()) return true;  // cancelled for the relist
  if (std::holds_alternative<Watching>(state)) {
    log.debug("watch ended", {base::kv("error", error)});
    advance(StreamEnded{now - opened_at < kAtOnce});
  } else if (error.code == base::ErrorCode::kCancelled) {  // by a stop, or by the relist that this list satisfies
    state = NeedsList{failures_of(state)};
    close_stream();
  } else {
    fail_list(error.during("listing by a watch"));
  }
  return true;
}

/// Reads one line, if one arrives within `wait`. Returns true if anything happened.
bool Reflector::Impl::read_line(base::milliseconds wait) {
  auto next = stream->next(wait);
  const base::TimePoint now = clock.now();
  if (!next) return end_stream(next.error(), now);
  if (*next) heard_at = now;
  if (is_overdue(now)) {
    options.streamed_lists->give_up();
    fail_list(base::unavailable("listing by a watch: the server does not report that the list is complete"));
    return true;
  }
  if (*next) {
    apply_line(**next);
    return true;
  }
  if (std::holds_alternative<Streaming>(state)) return false;
  if (now - opened_at >= kAtOnce && opened_at.time_since_epoch().count() > contact_at) {
    contact_at = opened_at.time_since_epoch().count();  // the watch stays open
  }
  if (now - heard_at < options.idle_timeout) return false;
  log.debug("the watch received nothing for too long",
            {base::kv("seconds",
                      static_cast<std::int64_t>(std::chrono::duration_cast<base::seconds>(now - heard_at).count()))});
  advance(StreamEnded{});
  return true;
}

/// Reads all available lines. Waits only for the first one.
bool Reflector::Impl::read_watch(base::milliseconds wait) {
  bool happened = false;
  while (is_reading() && !stop.stop_requested() && !is_relist_due()) {
    if (!read_line(happened ? base::milliseconds(0) : wait)) break;
    happened = true;
  }
  return happened;
}

/// Makes a list the next step, from any state. A backoff continues.
void Reflector::Impl::begin_relist() {
  if (!is_relist_due() || std::holds_alternative<NeedsList>(state)) return;
  state = NeedsList{failures_of(state)};
  close_stream();
}

/// Polls a recently opened watch at a shorter interval, because its staying open counts as contact.
base::milliseconds Reflector::Impl::longest_wait() const {
  const bool is_settled = std::holds_alternative<Watching>(state) && clock.now() - opened_at > kMaxSilence;
  return is_settled ? std::min(kMaxSilence, std::max(kMaxPollInterval, options.idle_timeout / 4)) : kMaxPollInterval;
}

bool Reflector::Impl::step(base::milliseconds wait) {
  begin_relist();
  if (is_reading()) return read_watch(wait);
  if (clock.now() < not_before) return false;
  if (std::holds_alternative<NeedsList>(state)) {
    list();
  } else {
    open_watch();
  }
  return true;
}

Reflector::Reflector(Client& client, const base::Clock& clock, ResourceType type, ReflectorOptions options,
                     ReflectorSink& sink, base::Log log)
    : impl_(std::make_unique<Impl>(client, clock, type, std::move(options), sink, std::move(log))) {}

Reflector::~Reflector() = default;

void Reflector::run(std::stop_token stop) {
  impl_->stop = stop;
  const std::stop_callback wake(stop, [this] { impl_->cancel_stream(); });
  while (!stop.stop_requested()) {
    if (impl_->step(impl_->longest_wait()) || impl_->is_reading()) continue;
    const base::Duration left = impl_->not_before - impl_->clock.now();
    base::sleep_unless_stopped(std::clamp<base::Duration>(left, base::milliseconds(1), kMaxPollInterval), stop);
  }
  impl_->close_stream();
}

base::Duration Reflector::take_turn(std::stop_token stop, const std::function<void()>& news) {
  impl_->stop = stop;
  impl_->news = news;
  const std::stop_callback wake(stop, [this] { impl_->cancel_stream(); });
  const auto wait = [this] { return impl_->stream_tells ? base::milliseconds(0) : impl_->longest_wait(); };
  while (!stop.stop_requested() && impl_->step(wait())) {
  }
  if (impl_->is_reading()) return impl_->stream_tells ? impl_->longest_wait() : base::milliseconds(0);
  return std::clamp<base::Duration>(impl_->not_before - impl_->clock.now(), base::milliseconds(1), kMaxPollInterval);
}

void Reflector::rest() { impl_->close_stream(); }

bool Reflector::poll() { return impl_->step(base::milliseconds(0)); }

std::uint64_t Reflector::relist() {
  const std::uint64_t ticket = ++impl_->relists_wanted;
  impl_->cancel_stream();
  return ticket;
}

bool Reflector::has_relisted(std::uint64_t ticket) const { return impl_->relists_done >= ticket; }

bool Reflector::has_synced() const { return impl_->synced; }

base::Duration Reflector::contact_age() const {
  const base::TimePoint last{base::Duration(impl_->contact_at.load())};
  return std::max(impl_->clock.now() - last, base::Duration::zero());
}

std::optional<base::Error> Reflector::last_error() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->last_error;
}

}  // namespace kube
