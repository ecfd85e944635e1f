#include "simulator/api/request_log.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace simulator {

api::Json to_json(const JournalEntry& entry) {
  return {{"time", base::format_micro_time(entry.time)},
          {"user", entry.user},
          {"verb", entry.verb},
          {"group", entry.group},
          {"resource", entry.resource},
          {"subresource", entry.subresource},
          {"namespace", entry.key.ns},
          {"name", entry.key.name},
          {"uid", entry.uid},
          {"code", entry.code},
          {"dryRun", entry.dry_run}};
}

void RequestLog::add(JournalEntry entry) {
  const std::scoped_lock lock(mutex_);
  entries_.push_back(std::move(entry));
  if (entries_.size() <= limit_) return;
  entries_.pop_front();
  ++dropped_;
}

std::vector<JournalEntry> RequestLog::entries() const {
  const std::scoped_lock lock(mutex_);
  return {entries_.begin(), entries_.end()};
}

std::uint64_t RequestLog::count() const {
  const std::scoped_lock lock(mutex_);
  return dropped_ + entries_.size();
}

std::optional<JournalEntry> RequestLog::newest() const {
  const std::scoped_lock lock(mutex_);
  return entries_.empty() ? std::nullopt : std::optional(entries_.back());
}

std::uint64_t RequestLog::dropped() const {
  const std::scoped_lock lock(mutex_);
  return dropped_;
}

void RequestLog::clear() {
  const std::scoped_lock lock(mutex_);
  entries_.clear();
  dropped_ = 0;
}

}  // namespace simulator
