#pragma once

#include <algorithm>
#include <string_view>

#include "base/result.hpp"

namespace controllers {

/// Of a 403: RBAC has no such right for us ("… cannot patch resource …"), so that it says no for every object. Else an
/// admission webhook, a quota or a namespace that is being deleted refuses this one.
inline bool is_right_missing(const base::Error& error) {
  if (error.code != base::ErrorCode::kForbidden) return false;
  constexpr std::string_view kCannot = "cannot ";
  std::string_view text = error.message;
  const std::size_t at = text.find(kCannot);
  if (at == std::string_view::npos) return false;
  text.remove_prefix(at + kCannot.size());
  return text.substr(std::min(text.find(' '), text.size())).starts_with(" resource");
}

}  // namespace controllers
