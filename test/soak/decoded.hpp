#pragma once

#include <unordered_map>
#include <utility>

#include "base/result.hpp"
#include "simulator/store.hpp"

namespace soak {

/// What is stored as a T, each version of each object decoded once.
template <typename T>
class Decoded {
 public:
  using Decode = base::Result<T> (*)(const api::Json&);

  explicit Decoded(Decode decode) : decode_(decode) {}

  /// Stays where it is as long as this lives.
  const base::Result<T>& of(const simulator::Object& object) {
    const auto known = entries_.find(object.get());
    if (known != entries_.end()) return known->second.second;
    return entries_.emplace(object.get(), std::pair(object, decode_(*object))).first->second.second;
  }

 private:
  const Decode decode_;
  /// With the object itself, so that its address means it indefinitely.
  std::unordered_map<const api::Json*, std::pair<simulator::Object, base::Result<T>>> entries_;
};

}  // namespace soak
