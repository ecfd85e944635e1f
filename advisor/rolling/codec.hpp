#pragma once

/// RollingHistory as a text that an object's status can keep. Pure.

#include <cstddef>
#include <string>
#include <string_view>

#include "advisor/rolling/rolling_history.hpp"
#include "base/result.hpp"

namespace advising {

/// No honest text is longer, and a longer one is not looked at.
inline constexpr std::size_t kMaxHistoryText = 24 * 1024;

/// Base64 of a version, then of days and sketches; 1 to 3 KB for two weeks of an ordinary container.
std::string encode_history(const RollingHistory& history);

/// Survives any input: what no encode_history() writes, or what lies after the day of `now`, is refused as a whole, and
/// the error says why. What it returns is as bounded as what was encoded.
base::Result<RollingHistory> decode_history(std::string_view text, base::TimePoint now);

}  // namespace advising
