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

// How long a wait may last before idle time and a manual clock are looked at again. A stop and a relist end it at once.
constexpr base::milliseconds kLongestLook{1000};
constexpr base::Duration kAtOnce = base::seconds(1);

std::string hint_for(const base::Error& error, const ResourceType& type) {
  if (error.code == base::ErrorCode::kForbidden)
    return "grant the operator's role the verbs list and watch on " + std::string(type.plural);
  if (error.code == base::ErrorCode::kNotFound)
    return "the server does not serve " + type.api_version() + "/" + std::string(type.plural) +
           "; is its CRD installed?";
  if (error.code == base::ErrorCode::kUnauthorized) return "the server refuses the credentials; are they expired?";
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

  // Of the one thread that runs or polls.
  ReflectorState state = MustList{};
  std::unique_ptr<WatchStream> stream;
  base::TimePoint not_before{};  // back-off
  base::TimePoint opened_at{};   // of the watch
  base::TimePoint heard_at{};    // last line of the watch
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

  bool step(base::milliseconds wait);
  base::Result<api::ListMeta> list_items();
  void list();
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

/// Takes the step; one that failed is followed by a jittered wait.
void Reflector::Impl::advance(const ReflectorInput& input) {
  const int before = failures_of(state);
  state = next_state(state, input);
  const int after = failures_of(state);
  if (!std::holds_alternative<Watching>(state)) close_stream();
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
    if (told) return log.debug("still out of step with the server", {base::kv("error", *last_error)});
  }
  log.warning("out of step with the server",
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
  page.limit = page_limit(std::get<MustList>(state), options.list.limit);
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
    sink.begin_list();  // what was streamed counts for nothing
  }
  return client.list(type, page, each);
}

void Reflector::Impl::list() {
  const std::uint64_t wanted = relists_wanted;
  sink.begin_list();
  const auto listed = list_items();
  if (!listed) {
    if (listed.error().code != base::ErrorCode::kCancelled) note_failure("listing", listed.error());
    return advance(ListFailed{listed.error()});
  }
  sink.end_list();
  synced = true;
  relists_done = wanted;
  note_contact();
  note_news();
  log.debug("listed", {base::kv("resourceVersion", listed->resource_version)});
  advance(Listed{listed->resource_version});
}

void Reflector::Impl::open_watch() {
  ListOptions from = options.list;
  from.resource_version = std::get<MustWatch>(state).resource_version;
  const auto timeout = std::chrono::duration_cast<base::seconds>(options.watch_timeout * (1 + draw()));
  auto opened = client.watch(type, from, timeout);
  if (!opened) {
    if (opened.error().code != base::ErrorCode::kGone) note_failure("watching", opened.error());
    return advance(WatchRefused{opened.error()});
  }
  stream = *std::move(opened);
  {
    const std::scoped_lock lock(mutex);
    cancellable = stream.get();
    if (stop.stop_requested()) stream->cancel();  // the stop came before there was a stream to cancel
  }
  opened_at = heard_at = clock.now();
  note_contact();
  // One that the server opens and ends at once, again and again, is no contact.
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

void Reflector::Impl::apply_line(const std::string& line) {
  const auto event = api::split_watch_line(line);
  if (event) return apply_event(*event);
  note_failure("reading a watch event", event.error());
  advance(Malformed{});
}

/// One line, if it comes in time. True if anything happened.
bool Reflector::Impl::read_line(base::milliseconds wait) {
  auto next = stream->next(wait);
  const base::TimePoint now = clock.now();
  if (!next && relists_wanted != relists_done) return true;  // cancelled for that
  if (!next) {
    log.debug("watch ended", {base::kv("error", next.error())});
    advance(StreamEnded{now - opened_at < kAtOnce});
    return true;
  }
  if (*next) {
    heard_at = now;
    apply_line(**next);
    return true;
  }
  if (now - opened_at >= kAtOnce && opened_at.time_since_epoch().count() > contact_at) {
    contact_at = opened_at.time_since_epoch().count();  // it stays open
  }
  if (now - heard_at < options.idle_timeout) return false;
  log.debug("watch was silent for too long",
            {base::kv("seconds",
                      static_cast<std::int64_t>(std::chrono::duration_cast<base::seconds>(now - heard_at).count()))});
  advance(StreamEnded{});
  return true;
}

/// What is there now; waits for the first line only.
bool Reflector::Impl::read_watch(base::milliseconds wait) {
  bool happened = false;
  while (std::holds_alternative<Watching>(state) && !stop.stop_requested() && relists_wanted == relists_done) {
    if (!read_line(happened ? base::milliseconds(0) : wait)) break;
    happened = true;
  }
  return happened;
}

/// Whatever it was doing, it lists next; a back-off goes on.
void Reflector::Impl::begin_relist() {
  if (relists_wanted == relists_done || std::holds_alternative<MustList>(state)) return;
  state = MustList{failures_of(state)};
  close_stream();
}

bool Reflector::Impl::step(base::milliseconds wait) {
  begin_relist();
  if (std::holds_alternative<Watching>(state)) return read_watch(wait);
  if (clock.now() < not_before) return false;
  if (std::holds_alternative<MustList>(state)) {
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
    if (impl_->step(kLongestLook) || std::holds_alternative<Watching>(impl_->state)) continue;
    const base::Duration left = impl_->not_before - impl_->clock.now();
    base::sleep_unless_stopped(std::clamp<base::Duration>(left, base::milliseconds(1), kLongestLook), stop);
  }
  impl_->close_stream();
}

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
