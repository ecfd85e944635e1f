#include <algorithm>
#include <atomic>
#include <deque>

#include <fmt/format.h>

#include "api/json/json_access.hpp"
#include "simulator/api/core.hpp"

namespace simulator {
namespace {

using api::Json;
using base::milliseconds;

constexpr base::seconds kDefaultWatchTime{1800};  // Kubernetes uses 30 to 60 minutes
constexpr base::seconds kBookmarkEvery{60};
constexpr milliseconds kCancelCheck{100};  // Store::wait_past does not react to cancel()

/// An open watch. Events are created on demand from the store's journal.
class Watch final : public kube::WatchStream {
 public:
  Watch(ApiCore& core, const Call& call, Selection selection, std::uint64_t from)
      : core_(core),
        resource_(call.resource),
        selection_(std::move(selection)),
        output_(call.output),
        ns_(call.info.ns),
        user_(call.user.name),
        bookmarks_(call.info.query.flag("allowWatchBookmarks")),
        seen_(from),
        deadline_(core.store.clock().now() + watch_time(call)),
        next_bookmark_(core.store.clock().now() + kBookmarkEvery) {}

  /// Sets the objects that the watch begins with if there is no resourceVersion. With `with_final_bookmark` a bookmark
  /// follows them, which makes it a streamed list.
  void begin_with(const Listing& listing, bool with_final_bookmark = false) {
    for (const Object& object : listing.items) {
      if (in_scope(api::text_at(*object, {"metadata", "namespace"})) && selection_.matches(*object))
        initial_.push_back(object);
    }
    bookmark_pending_ = with_final_bookmark;
  }

  base::Result<std::optional<std::string>> next(milliseconds wait) override {
    const auto until = std::chrono::steady_clock::now() + wait;
    while (true) {
      if (cancelled_) return base::Error{base::ErrorCode::kCancelled, "the watch was cancelled"};
      finish_terminating(core_);
      const std::uint64_t revision = core_.store.revision();
      fill(revision);
      if (auto line = take()) return std::optional<std::string>(std::move(*line));
      if (ended_) return base::unavailable("the server closed the watch");
      const auto left = std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
      if (left <= milliseconds(0)) return std::optional<std::string>();
      core_.store.wait_past(revision, std::min(left, kCancelCheck));
    }
  }

  void cancel() override { cancelled_ = true; }

 private:
  static base::seconds watch_time(const Call& call) {
    const auto asked = call.info.query.number("timeoutSeconds");
    return asked && *asked > 0 ? base::seconds(std::min<std::int64_t>(*asked, 86'400)) : kDefaultWatchTime;
  }

  bool in_scope(const std::string& ns) const { return ns_.empty() || ns == ns_; }
  FaultSubject subject() const { return {"watch", resource_->plural, "", user_}; }

  void push(std::string_view type, const Object& object) {
    output_.now = core_.store.clock().now();
    pending_.push_back(encode_event(type, core_.texts.encode(resource_, object, output_)));
  }

  void fill(std::uint64_t revision) {
    if (ended_ || stalled_) return;
    apply_fault(core_.faults.strike_watch(subject(), WatchMoment::kPoll));
    if (ended_ || stalled_) return;
    if (owes_list()) begin();
    if (ended_ || stalled_ || owes_list()) return;
    if (revision > seen_) pull(revision);
    const base::TimePoint now = core_.store.clock().now();
    if (now >= deadline_ && !ended_) {
      if (bookmarks_) pending_.push_back(encode_bookmark(*resource_, seen_, output_));
      ended_ = true;
    } else if (bookmarks_ && now >= next_bookmark_) {
      pending_.push_back(encode_bookmark(*resource_, seen_, output_));
      next_bookmark_ = now + kBookmarkEvery;
    }
  }

  bool owes_list() const { return !initial_.empty() || bookmark_pending_; }

  /// Emits the next initial object, one at a time, so that they are never all encoded at once.
  void begin() {
    if (!pending_.empty()) return;
    if (!initial_.empty()) {
      apply_fault(core_.faults.strike_watch(subject(), WatchMoment::kEvent));
      if (ended_ || stalled_) return;
      push("ADDED", initial_.front());
      return initial_.pop_front();
    }
    bookmark_pending_ = false;
    const auto effect = core_.faults.strike_watch(subject(), WatchMoment::kInitialEvents);
    apply_fault(effect);
    if (!effect) pending_.push_back(encode_bookmark(*resource_, seen_, output_, true));
  }

  /// Emits all changes up to `revision`, which the caller read before, so that no change is missed.
  void pull(std::uint64_t revision) {
    auto changes = core_.store.changes_since(seen_, &resource_->storage);
    if (!changes) {
      pending_.push_back(encode_error_event(expired(changes.error().message), output_));
      ended_ = true;
      return;
    }
    for (const Change& change : *changes) {
      if (in_scope(change.key.ns)) emit(change);
      if (ended_ || stalled_) return;
      revision = std::max(revision, change.revision);
    }
    seen_ = revision;
  }

  /// Emits a change. An object that enters or leaves the selection is reported as ADDED or DELETED.
  void emit(const Change& change) {
    const bool was = change.before && selection_.matches(*change.before);
    const bool is = change.kind != ChangeKind::kDeleted && selection_.matches(*change.object);
    if (!was && !is) return;
    apply_fault(core_.faults.strike_watch(subject(), WatchMoment::kEvent));
    if (ended_ || stalled_) return;
    push(is ? (was ? "MODIFIED" : "ADDED") : "DELETED", change.object);
  }

  void apply_fault(std::optional<FaultEffect> effect) {
    if (effect == FaultEffect::kCutWatch) ended_ = true;
    if (effect == FaultEffect::kStallWatch) stalled_ = true;
  }

  std::optional<std::string> take() {
    if (pending_.empty()) return std::nullopt;
    std::string line = std::move(pending_.front());
    pending_.pop_front();
    return line;
  }

  ApiCore& core_;
  const ServedPtr resource_;
  const Selection selection_;
  Output output_;
  const std::string ns_;
  const std::string user_;
  const bool bookmarks_;
  std::uint64_t seen_;
  const base::TimePoint deadline_;
  base::TimePoint next_bookmark_;
  std::deque<Object> initial_;
  bool bookmark_pending_ = false;
  std::deque<std::string> pending_;
  bool ended_ = false;
  bool stalled_ = false;
  std::atomic<bool> cancelled_{false};
};

ApiServer::WatchAnswer refuse(const Failure& failure) { return {nullptr, to_response(failure)}; }

Failure forbidden_option(const char* option, const char* why) {
  return invalid_options("ListOptions", option, fmt::format("Forbidden: {}", why));
}

/// Returns nullopt if the query does not request a streamed list or requests it correctly.
std::optional<Failure> check_streamed_list(const ApiCore& core, const Query& query) {
  const bool has_match = !query.value("resourceVersionMatch").empty();
  if (!query.has("sendInitialEvents")) {
    if (!has_match) return std::nullopt;
    return forbidden_option("resourceVersionMatch",
                            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  }
  if (!core.abilities.streamed_lists) {
    return forbidden_option("sendInitialEvents",
                            "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled");
  }
  if (query.value("resourceVersionMatch") == "NotOlderThan") return std::nullopt;
  return forbidden_option("resourceVersionMatch",
                          "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
}

}  // namespace

ApiServer::WatchAnswer open_watch(ApiCore& core, Call call) {
  const Query& query = call.info.query;
  if (const auto refused = check_streamed_list(core, query)) return refuse(*refused);
  auto selection = selection_of(call);
  if (!selection) return refuse(selection.failure());
  if (!call.info.name.empty()) {  // GET …/<name>?watch=true, sent by old clients
    selection = Selection::parse(*call.resource, "", "metadata.name=" + call.info.name);
  }
  const std::string text = query.value("resourceVersion");
  const bool from_anywhere = text.empty() || text == "0";
  const bool is_list = query.flag("sendInitialEvents");
  if (from_anywhere || is_list) {
    if (auto wanted = wanted_revision(core, call); !wanted) return refuse(wanted.failure());
    auto listing = core.store.list_at(call.resource->storage, call.info.ns);
    auto watch = std::make_unique<Watch>(core, call, *std::move(selection), listing->revision);
    if (is_list || !query.has("sendInitialEvents"))
      watch->begin_with(*listing, is_list && query.flag("allowWatchBookmarks"));
    return {std::move(watch), {}};
  }
  const auto version = query.number("resourceVersion");
  if (!version || *version < 0) return refuse(bad_request(fmt::format("invalid resource version \"{}\"", text)));
  // If the version is too old, the first event is a 410, as in Kubernetes.
  return {std::make_unique<Watch>(core, call, *std::move(selection), static_cast<std::uint64_t>(*version)), {}};
}

}  // namespace simulator
