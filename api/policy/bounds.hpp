#pragma once

/// Bounds of the policy's parts, and the checks that report violations. The CRD repeats the bounds (test/unit/api
/// checks that both are equal).

#include <cstddef>
#include <string_view>

#include "api/json/field_path.hpp"
#include "base/clock.hpp"

namespace api {

namespace bounds {
inline constexpr base::Duration kMinInterval = base::seconds(5);
inline constexpr base::Duration kMaxInterval = std::chrono::hours(168);
inline constexpr std::size_t kMaxWindows = 32;
inline constexpr std::size_t kMaxTriggers = 16;
inline constexpr std::size_t kMaxCron = 256;
inline constexpr std::size_t kMaxTimeZone = 64;
inline constexpr std::size_t kMaxUsageSources = 8;
inline constexpr std::size_t kMaxQueries = 16;
inline constexpr std::size_t kMaxQueryText = 4096;
inline constexpr std::size_t kMaxUrl = 1024;
inline constexpr std::size_t kMaxHeaders = 16;
inline constexpr std::size_t kMaxHeaderText = 1024;
inline constexpr std::size_t kMaxLabelName = 63;
inline constexpr std::size_t kMaxSecretText = 253;
inline constexpr std::size_t kMaxGates = 8;
inline constexpr std::size_t kMaxMatchers = 16;
}  // namespace bounds

/// Reports "2s is not between 5s and 1h".
void check_duration(FieldErrors& errors, const FieldPath& at, base::Duration value, base::Duration least,
                    base::Duration most);
/// Reports "120 is not between 0 and 100".
void check_number(FieldErrors& errors, const FieldPath& at, double value, double least, double most);
void check_items(FieldErrors& errors, const FieldPath& at, std::size_t count, std::size_t most);
/// Reports "is longer than 253 characters".
void check_length(FieldErrors& errors, const FieldPath& at, std::string_view text, std::size_t most);

}  // namespace api
