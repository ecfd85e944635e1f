#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "evictors/evictor.hpp"

namespace evictors {

/// Every evictor of this build. Immutable once built, so it serves all threads.
class EvictorRegistry {
 public:
  /// What this build ships, in the order of the automatic choice. A third party adds one line in registry.cpp.
  static EvictorRegistry builtin();

  EvictorRegistry& add(std::unique_ptr<Evictor> evictor);

  /// nullptr: there is none of that name.
  const Evictor* find(std::string_view name) const;
  std::vector<std::string_view> names() const;

  /// Complaints about spec.evictors: unknown names, bad parameters, repetitions. `path` is the path of the list.
  api::FieldErrors validate(const std::vector<api::EvictorChoice>& choices, const api::FieldPath& path) const;

  /// The list to walk: the spec's own, or with an empty one every automatic() evictor, most specific first.
  std::vector<api::EvictorChoice> chain(const std::vector<api::EvictorChoice>& choices) const;

 private:
  std::vector<std::unique_ptr<Evictor>> evictors_;
};

}  // namespace evictors
