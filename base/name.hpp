#pragma once

#include <compare>
#include <functional>
#include <string>

namespace base {

/// String typed by what it names, so that a node name cannot be passed for a pod name.
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
