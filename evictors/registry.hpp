#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "evictors/evictor.hpp"

namespace evictors {

/// Evictors of this build. Immutable once built, so it serves all threads.
class EvictorRegistry {
 public:
  /// Returns the built-in evictors in the order of the automatic choice. Third parties add one line in registry.cpp.
  static EvictorRegistry builtin();

  EvictorRegistry& add(std::unique_ptr<Evictor> evictor) {
    evictors_.push_back(std::move(evictor));
    return *this;
  }

  /// Returns nullptr if there is no evictor of that name.
  const Evictor* find(std::string_view name) const {
    for (const auto& evictor : evictors_) {
      if (evictor->name() == name) return evictor.get();
    }
    return nullptr;
  }
  std::vector<std::string_view> names() const;

  /// Returns the errors in spec.evictors: unknown names, invalid parameters, duplicates. `path` is the path of the
  /// list.
  api::FieldErrors validate(const std::vector<api::EvictorChoice>& choices, const api::FieldPath& path) const;

  /// Returns the evictors to try: the spec's own list, or if empty every automatic() evictor, most specific first.
  std::vector<api::EvictorChoice> chain(const std::vector<api::EvictorChoice>& choices) const;

 private:
  std::vector<std::unique_ptr<Evictor>> evictors_;
};

}  // namespace evictors
