#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "kube/client.hpp"
#include "kube/runtime/store.hpp"

namespace kube {

/// Receives the objects from a reflector. Called only on the reflector's thread.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  /// Decodes and stores one object, as JSON or, with ListOptions::protobuf, as an envelope. Counts, logs and skips an
  /// object that cannot be decoded.
  virtual void upsert(std::string_view object) = 0;
  virtual void remove(std::string_view object) = 0;
  /// Called at the begin and end of a list. Objects without an upsert() in between no longer exist.
  virtual void begin_list() = 0;
  virtual void end_list() = 0;
};

/// Whether the server sends a list as the beginning of a watch (Kubernetes 1.32 and later, unless disabled). Shared by
/// the reflectors of a process, so that all stop after the first refusal. Thread-safe.
class StreamedLists {
 public:
  explicit StreamedLists(bool served) : served_(served) {}
  bool are_served() const { return served_; }
  void give_up() { served_ = false; }

 private:
  std::atomic<bool> served_;
};

struct ReflectorOptions {
  ListOptions list;  ///< namespace and selectors
  /// Allows the first list to come from the server's watch cache (Client::list_cached), which is cheaper but may be
  /// older than another server's state. Later lists never do, so that objects never go back in time.
  bool starts_from_cache = false;
  /// If set, lists come as the beginning of the following watch where the server supports it. After a failure the next
  /// list is paged. nullptr disables this.
  std::shared_ptr<StreamedLists> streamed_lists{};
  base::seconds watch_timeout{300};  ///< requested from the server; jitter may double it
  /// Time without any data, including bookmarks, after which the watch is closed and resumed.
  base::milliseconds idle_timeout{90'000};
  base::milliseconds backoff_min{200};
  base::milliseconds backoff_max{30'000};
  std::uint64_t jitter_seed = 1;
};

/// Lists, then watches from that version, or does both in one stream. Resumes after a break and lists again after 410,
/// like client-go's reflector. The state machine is pure (reflector_state.hpp); this class drives it.
class Reflector {
 public:
  /// `clock` should be a steady clock, see WorkQueue.
  Reflector(Client& client, const base::Clock& clock, ResourceType type, ReflectorOptions options, ReflectorSink& sink,
            base::Log log);
  ~Reflector();

  /// Runs until stopped. Never throws. Returns soon after `stop` is requested, even while a watch blocks.
  void run(std::stop_token stop);

  /// Alternative to run() without a dedicated thread: does the pending work and returns the maximum delay until the
  /// next call. Any thread may call `news` to request an earlier call, until rest() has returned. Blocks only for
  /// streams that are not a ReadinessSource. Call from one thread at a time. Do not mix with run().
  base::Duration take_turn(std::stop_token stop, const std::function<void()>& news);
  /// Closes the watch. REQUIRES: no thread is in take_turn() or calls it later.
  void rest();

  /// Performs one step without waiting, for virtual time: lists, opens the watch or applies the received lines. Returns
  /// true if anything happened. Do not mix with run().
  bool poll();

  /// Requests a new list from the server's store instead of its cache, independent of the watch, because a half-open
  /// watch looks like one without changes. Returns a ticket for has_relisted(). Thread-safe.
  std::uint64_t relist();
  /// Returns true once a list that began after the relist() with this ticket has been stored. Thread-safe.
  bool has_relisted(std::uint64_t ticket) const;

  /// Returns true once the first list has been stored.
  bool has_synced() const;
  /// Returns why the last contact failed, nullopt while there is contact. For readiness.
  std::optional<base::Error> last_error() const;
  /// Returns the maximum age of the stored state: the time since the last contact (a list, a line of the watch, or an
  /// open watch). A silent watch is closed after `idle_timeout`, so the age stays below twice that while there is
  /// contact. Counts from the start until the first contact. Thread-safe.
  base::Duration contact_age() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Store that a reflector keeps up to date, with change handlers. `decode` decodes T.
template <typename T>
class Informer final : private ReflectorSink {
 public:
  using Ptr = std::shared_ptr<const T>;
  using Decode = base::Result<T> (*)(std::string_view);
  /// `before` is nullptr for a new object, `after` for a deleted one. Runs on the reflector's thread, so it should only
  /// enqueue work. An exception is logged and ends the process.
  using Handler = std::function<void(const Ptr& before, const Ptr& after)>;

  Informer(Client& client, const base::Clock& clock, ResourceType type, Decode decode, ReflectorOptions options,
           base::Log log)
      : decode_(decode),
        log_(log.with({base::kv("kind", type.kind)})),
        reflector_(client, clock, type, std::move(options), *this, log_) {}

  /// REQUIRES: called before run() or the first poll().
  void add_handler(Handler handler) { handlers_.push_back(std::move(handler)); }
  /// Sets a function that adds data to each object before it is stored. REQUIRES: as add_handler().
  void complete_with(std::function<void(T&)> complete) { complete_ = std::move(complete); }
  /// Sets a function that returns an object whose exact version is already known, by namespace, name, UID and
  /// resourceVersion. Such objects are not decoded again. It returns nullopt for unknown versions. REQUIRES: as
  /// add_handler().
  void recall_with(std::function<std::optional<T>(const api::ObjectMeta&)> recall) { recall_ = std::move(recall); }
  Store<T>& store() { return store_; }
  const Store<T>& store() const { return store_; }
  Reflector& reflector() { return reflector_; }
  bool has_synced() const { return reflector_.has_synced(); }

 private:
  void upsert(std::string_view json) override {
    auto decoded = read(json);
    if (!decoded) return skip(json, decoded.error());
    if (complete_) complete_(*decoded);
    auto object = std::make_shared<const T>(*std::move(decoded));
    if (listing_) listed_.insert(object->meta.key());
    Ptr before = store_.put(object);
    if (before && before->meta.resource_version == object->meta.resource_version &&
        before->meta.uid == object->meta.uid)
      return;  // unchanged since the last list
    notify(before, object);
  }
  base::Result<T> read(std::string_view json) {
    const auto meta = recall_ ? api::decode_meta(json) : base::Result<api::ObjectMeta>(api::ObjectMeta());
    auto known = recall_ && meta ? recall_(*meta) : std::nullopt;
    return known ? base::Result<T>(*std::move(known)) : decode_(json);
  }
  /// An object that cannot be decoded still exists. Keeps its last decoded state and does not treat it as deleted.
  void skip(std::string_view json, const base::Error& error) {
    log_.warning("object could not be decoded", {base::kv("error", error)});
    if (!listing_) return;
    const auto meta = api::decode_meta(json);
    if (meta) listed_.insert(meta->key());
    some_unnamed_ = some_unnamed_ || !meta;
  }
  void remove(std::string_view json) override {
    const auto meta = api::decode_meta(json);
    if (!meta) return log_.warning("deleted object could not be decoded", {base::kv("error", meta.error())});
    forget(meta->key());
  }
  void begin_list() override {
    listing_ = true;
    some_unnamed_ = false;
    listed_.clear();
  }
  void end_list() override {
    listing_ = false;
    for (const Ptr& object : some_unnamed_ ? std::vector<Ptr>() : store_.list()) {
      if (!listed_.contains(object->meta.key())) forget(object->meta.key());
    }
    listed_.clear();
  }
  void forget(const api::ObjectKey& key) {
    if (Ptr before = store_.remove(key)) notify(before, nullptr);
  }
  /// An exception ends the process, after the handler and the object are logged: a handler that stopped halfway may
  /// leave inconsistent memory, which only a restart rebuilds.
  void notify(const Ptr& before, const Ptr& after) {
    for (std::size_t i = 0; i < handlers_.size(); ++i) {
      try {
        handlers_[i](before, after);
      } catch (const std::exception& error) {
        log_thrown((after ? after : before)->meta.key(), i, error.what());
        throw;
      } catch (...) {
        log_thrown((after ? after : before)->meta.key(), i, "not a std::exception");
        throw;
      }
    }
  }
  void log_thrown(const api::ObjectKey& object, std::size_t handler, const char* what) const {
    log_.error("a handler of this cache threw",
               {base::kv("object", object.to_string()), base::kv("handler", handler), base::kv("error", what)});
    log_.flush();
  }

  Decode decode_;
  std::function<void(T&)> complete_;
  std::function<std::optional<T>(const api::ObjectMeta&)> recall_;
  base::Log log_;
  Store<T> store_;
  std::vector<Handler> handlers_;
  bool listing_ = false;
  bool some_unnamed_ = false;  ///< the list has an undecodable object without a name, so no object may count as deleted
  std::set<api::ObjectKey> listed_;
  Reflector reflector_;
};

}  // namespace kube
