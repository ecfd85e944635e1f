#pragma once

/// Encodes a RollingHistory as text for the status of an object. Pure.

#include <cstddef>
#include <string>
#include <string_view>

#include "advisor/rolling/rolling_history.hpp"
#include "base/result.hpp"

namespace advisor {

/// Maximum size of a text. Encoded histories are shorter; decode_history() rejects longer texts.
inline constexpr std::size_t kMaxHistoryText = 24 * 1024;

/// Encodes a history: Base64 of a version byte, days and sketches. 1 to 3 KB for two weeks of a typical container.
std::string encode_history(const RollingHistory& history);

/// Decodes a history. Safe for any input: returns an error for text that encode_history() cannot produce or that has
/// days after the day of `now`. The result has the same size limits as an encoded history.
base::Result<RollingHistory> decode_history(std::string_view text, base::TimePoint now);

}  // namespace advisor
