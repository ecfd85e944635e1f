#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "simulator/store.hpp"

namespace simulator {

/// An actor's cursor into the store's journal, initially at its beginning. Not thread-safe.
class Journal {
 public:
  using Handler = std::function<void(const Change& change)>;

  explicit Journal(const Store& store) : store_(store) {}

  /// Calls the handler for every change of that resource. Changes are upserts: kAdded may repeat for a known object.
  void follow(const kube::ResourceType& type, Handler handler) { handlers_.emplace_back(type, std::move(handler)); }
  /// Calls the handler for changes of resources without another handler. After a reset, only objects of `types` are
  /// replayed to it.
  void follow_others(std::vector<kube::ResourceType> types, Handler handler);
  /// Sets the function called before all objects are replayed as kAdded, which happens if the journal has been
  /// compacted past the last poll.
  void on_reset(std::function<void()> reset) { reset_ = std::move(reset); }

  /// Calls the handlers for all changes since the last call. Returns true if there were any.
  bool poll();

 private:
  void replay_all();
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
