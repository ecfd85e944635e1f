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

/// A mutating request with its response status, like an entry of Kubernetes' audit log.
struct JournalEntry {
  base::TimePoint time{};
  std::string user;
  std::string verb;  ///< create, update, patch, delete, deletecollection
  std::string group;
  std::string resource;  ///< plural
  std::string subresource;
  api::ObjectKey key;
  std::string uid;  ///< UID of the object, if known
  int code = 0;     ///< HTTP status, even if a fault withheld the response from the client
  bool dry_run = false;

  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};
api::Json to_json(const JournalEntry& entry);

/// Log of the newest `limit` mutating requests, oldest first. Thread-safe.
class RequestLog {
 public:
  explicit RequestLog(std::size_t limit) : limit_(limit) {}

  void add(JournalEntry entry);
  std::vector<JournalEntry> entries() const;
  /// Return the number of entries added since the last clear(), and the newest entry.
  std::uint64_t count() const;
  std::optional<JournalEntry> newest() const;
  /// Returns the number of entries dropped because of the limit.
  std::uint64_t dropped() const;
  void clear();

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::deque<JournalEntry> entries_;
  std::uint64_t dropped_ = 0;
};

}  // namespace simulator
