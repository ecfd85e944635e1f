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

/// Receives what a reflector learns. Called from the reflector's one thread.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  /// Decodes and stores one object (an undecodable one is counted, logged and skipped by the sink). JSON, or an
  /// envelope where ListOptions::protobuf asks for it.
  virtual void upsert(std::string_view object) = 0;
  virtual void remove(std::string_view object) = 0;
  /// A fresh list begins / has ended: objects not upserted in between no longer exist.
  virtual void begin_list() = 0;
  virtual void end_list() = 0;
};

/// Whether the server sends a list as the beginning of a watch (Kubernetes 1.32 and later, unless it is switched off).
/// Shared by the reflectors of a process: one that is refused tells the others. Thread-safe.
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
  /// The first list may come from the server's watch cache (Client::list_cached): cheaper, and perhaps behind what
  /// another server has said. The lists after it never do, so that nothing goes back in time.
  bool starts_from_cache = false;
  /// Lists come as the beginning of the watch that follows them, where that is served. After a failure the next one
  /// comes page by page. nullptr: never.
  std::shared_ptr<StreamedLists> streamed_lists{};
  base::seconds watch_timeout{300};         ///< asked of the server; jittered upwards to twice
  base::milliseconds idle_timeout{90'000};  ///< silence (bookmarks count) after which the watch is dropped and resumed
  base::milliseconds backoff_min{200};
  base::milliseconds backoff_max{30'000};
  std::uint64_t jitter_seed = 1;
};

/// List, then watch from that version, or both in one stream; resume after a break, list again after 410 (client-go's
/// reflector).
/// The state machine is pure (reflector_state.hpp); this class feeds it.
class Reflector {
 public:
  /// `clock` should be a steady one: see WorkQueue.
  Reflector(Client& client, const base::Clock& clock, ResourceType type, ReflectorOptions options, ReflectorSink& sink,
            base::Log log);
  ~Reflector();

  /// Runs until stopped. Never throws. Returns soon after `stop` is requested, also from within a blocked watch.
  void run(std::stop_token stop);

  /// The same without a thread that waits: does what there is to do now, and returns after how long to call it again at
  /// the latest. `news` tells, from any thread, that it is worth a call before that; not after rest(). Where a stream
  /// cannot tell its news this waits for it. By one thread at a time. Do not mix with run().
  base::Duration take_turn(std::stop_token stop, const std::function<void()>& news);
  /// Closes the watch. REQUIRES: nobody takes turns any more.
  void rest();

  /// One step without waiting, for virtual time: lists, opens the watch or applies the lines that are there.
  /// Returns true if anything happened. Do not mix with run().
  bool poll();

  /// Makes it list again, from the server's store and not from its cache, whatever the watch brings: a half-open watch
  /// looks like one with no news. Returns a ticket for has_relisted(). Thread-safe.
  std::uint64_t relist();
  /// A list that began after that relist() has been stored. Thread-safe.
  bool has_relisted(std::uint64_t ticket) const;

  /// The first list has been stored.
  bool has_synced() const;
  /// Why the last contact failed; nullopt while in contact. For readiness.
  std::optional<base::Error> last_error() const;
  /// How old what it has stored may be: the time since it last heard from the server (a list, a line of the watch, a
  /// watch that stays open). A silent watch is dropped after `idle_timeout`, so that in contact it stays below twice
  /// that. Counts from the start until the first contact. Thread-safe.
  base::Duration contact_age() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A store kept current by a reflector, with change handlers. T decodes through `decode`.
template <typename T>
class Informer final : private ReflectorSink {
 public:
  using Ptr = std::shared_ptr<const T>;
  using Decode = base::Result<T> (*)(std::string_view);
  /// `before` is nullptr for a new object, `after` for a deleted one. Runs on the reflector's thread: enqueue and
  /// return. One that throws is named in the log, and ends the process.
  using Handler = std::function<void(const Ptr& before, const Ptr& after)>;

  Informer(Client& client, const base::Clock& clock, ResourceType type, Decode decode, ReflectorOptions options,
           base::Log log)
      : decode_(decode),
        log_(log.with({base::kv("kind", type.kind)})),
        reflector_(client, clock, type, std::move(options), *this, log_) {}

  /// REQUIRES: before run() or the first poll().
  void add_handler(Handler handler) { handlers_.push_back(std::move(handler)); }
  /// Completes each object with what else is known of it, before it is stored. REQUIRES: as add_handler().
  void complete_with(std::function<void(T&)> complete) { complete_ = std::move(complete); }
  /// Objects of which the very version is known already, by namespace, name, UID and resourceVersion: they are not
  /// decoded again. nullopt: it is not. REQUIRES: as add_handler().
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
      return;  // a relist brought nothing new
    notify(before, object);
  }
  base::Result<T> read(std::string_view json) {
    const auto meta = recall_ ? api::decode_meta(json) : base::Result<api::ObjectMeta>(api::ObjectMeta());
    auto known = recall_ && meta ? recall_(*meta) : std::nullopt;
    return known ? base::Result<T>(*std::move(known)) : decode_(json);
  }
  /// It is there all the same: what is known of it stays.
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
  /// What a handler has done by half nobody can repair: memory only, rebuilt by the next process. So an exception ends
  /// this one, but not before the log names who threw and about what.
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
  bool some_unnamed_ = false;  ///< of the list: it may be any of those that seem to be missing
  std::set<api::ObjectKey> listed_;
  Reflector reflector_;
};

}  // namespace kube
