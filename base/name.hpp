#pragma once

#include <compare>
#include <functional>
#include <string>

namespace base {

/// A string that knows what it names, so that a node's name cannot be passed for a pod's.
template <typename Tag>
struct Name {
  std::string value;

  bool empty() const { return value.empty(); }
  friend auto operator<=>(const Name&, const Name&) = default;
};

}  // namespace base

template <typename Tag>
struct std::hash<base::Name<Tag>> {
  std::size_t operator()(const base::Name<Tag>& name) const noexcept { return std::hash<std::string>{}(name.value); }
};
