#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "simulator/store.hpp"

namespace simulator {

/// An actor's own place in the store's journal, at its very beginning to start with. Used by one thread.
class Journal {
 public:
  using Handler = std::function<void(const Change& change)>;

  explicit Journal(const Store& store) : store_(store) {}

  /// Hears every change of that resource. Handlers see objects as upserts: kAdded may repeat for a known object.
  void follow(const kube::ResourceType& type, Handler handler) { handlers_.emplace_back(type, std::move(handler)); }
  /// Hears what no other handler is there for. After a reset it hears of `types` only.
  void follow_rest(std::vector<kube::ResourceType> types, Handler handler);
  /// Called before everything is told afresh as kAdded, because the journal no longer reaches back to the last poll.
  void on_reset(std::function<void()> reset) { reset_ = std::move(reset); }

  /// Tells the handlers what has changed since the last call. True if there was anything.
  bool poll();

 private:
  void start_over();
  void tell(const Change& change) const;
  void notify_all(const kube::ResourceType& type, const Handler& handler) const;

  const Store& store_;
  std::vector<std::pair<kube::ResourceType, Handler>> handlers_;
  std::vector<kube::ResourceType> rest_types_;
  Handler rest_;
  std::function<void()> reset_;
  std::uint64_t seen_ = 0;
};

}  // namespace simulator
