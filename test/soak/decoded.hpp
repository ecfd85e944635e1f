#pragma once

#include <unordered_map>
#include <utility>

#include "base/result.hpp"
#include "simulator/store.hpp"

namespace soak {

/// Caches stored objects decoded as T. Each version of each object is decoded once.
template <typename T>
class Decoded {
 public:
  using Decode = base::Result<T> (*)(const api::Json&);

  explicit Decoded(Decode decode) : decode_(decode) {}

  /// The reference is valid for the lifetime of this object.
  const base::Result<T>& of(const simulator::Object& object) {
    const auto known = entries_.find(object.get());
    if (known != entries_.end()) return known->second.second;
    return entries_.emplace(object.get(), std::pair(object, decode_(*object))).first->second.second;
  }

 private:
  const Decode decode_;
  /// Keeps a reference to each object, so that its address is not reused.
  std::unordered_map<const api::Json*, std::pair<simulator::Object, base::Result<T>>> entries_;
};

}  // namespace soak
