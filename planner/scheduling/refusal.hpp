#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scheduling {

/// Why a pod may not run somewhere or may not leave. Made without allocation, so that a scan over thousands of nodes
/// can afford it; message() puts the words together for the few that are shown. Views point to static text or into
/// the snapshot that was asked: call message() before the snapshot goes.
struct Refusal {
  std::string_view reason;     ///< CamelCase, from a closed set: condition reasons and metrics labels
  std::string_view text;       ///< sentence with {subject}, {wanted} and {available}
  std::string_view subject{};  ///< the taint, resource, budget or label it is about
  std::int64_t wanted = 0;
  std::int64_t available = 0;

  std::string message() const;
  /// True if the sentence has this placeholder.
  bool names(std::string_view placeholder) const { return text.find(placeholder) != std::string_view::npos; }
};

}  // namespace scheduling
