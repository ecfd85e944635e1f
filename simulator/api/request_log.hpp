#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"

namespace simulator {

/// One mutating request and its answer: what Kubernetes' audit log would say.
struct JournalEntry {
  base::TimePoint time{};
  std::string user;
  std::string verb;  ///< create, update, patch, delete, deletecollection
  std::string group;
  std::string resource;  ///< plural
  std::string subresource;
  api::ObjectKey key;
  std::string uid;  ///< of the object, as far as it is known
  int code = 0;     ///< HTTP status, also when a fault kept the answer from the client
  bool dry_run = false;

  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};
api::Json to_json(const JournalEntry& entry);

/// The newest `limit` mutating requests, oldest first. Thread-safe.
class RequestLog {
 public:
  explicit RequestLog(std::size_t limit) : limit_(limit) {}

  void add(JournalEntry entry);
  std::vector<JournalEntry> entries() const;
  /// How many were ever added since the last clear(), and the newest of them.
  std::uint64_t count() const;
  std::optional<JournalEntry> newest() const;
  /// Entries that the limit has pushed out.
  std::uint64_t dropped() const;
  void clear();

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::deque<JournalEntry> entries_;
  std::uint64_t dropped_ = 0;
};

}  // namespace simulator
