#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scheduling {

/// Why a pod may not run on a node or may not be evicted. Created without allocation, so that scans over thousands of
/// nodes can afford it; message() formats the few that are shown. Views refer to static text or to the snapshot, so
/// message() must not be called after the snapshot is destroyed.
struct Refusal {
  std::string_view reason;     ///< CamelCase, from a closed set; used for condition reasons and metric labels
  std::string_view text;       ///< sentence with {subject}, {wanted} and {available}
  std::string_view subject{};  ///< the taint, resource, budget or label concerned
  std::int64_t wanted = 0;
  std::int64_t available = 0;

  std::string message() const;
  /// Returns true if the sentence contains this placeholder.
  bool names(std::string_view placeholder) const { return text.find(placeholder) != std::string_view::npos; }
};

}  // namespace scheduling
