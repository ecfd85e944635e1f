#pragma once

#include <set>
#include <utility>

#include "simulator/actor.hpp"
#include "simulator/journal.hpp"

namespace simulator {

/// Actor that processes keys: those in `dirty_`, which its handlers of the journal insert, and those due in `agenda_`.
template <typename Key>
class KeyedActor : public Actor {
 public:
  bool tick(base::TimePoint now) override {
    now_ = now;
    journal_.poll();
    for (const Key& key : agenda_.take_due(now)) dirty_.insert(key);
    bool changed = false;
    for (const Key& key : std::exchange(dirty_, {})) changed = process(key, now) || changed;
    return changed;
  }
  std::optional<base::TimePoint> next_due() const override { return agenda_.next(); }

 protected:
  explicit KeyedActor(Store& store) : store_(store), journal_(store) {}

  /// Returns true if the store was changed.
  virtual bool process(const Key& key, base::TimePoint now) = 0;

  Store& store_;
  Journal journal_;
  base::TimePoint now_{};  ///< time of the current tick
  std::set<Key> dirty_;
  Agenda<Key> agenda_;
};

}  // namespace simulator
