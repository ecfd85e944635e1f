#pragma once

/// Times as people's logs and tables write them. Pure.

#include <optional>
#include <string_view>

#include "base/clock.hpp"

namespace advising {

/// RFC 3339, also with an offset without a colon (`date +%FT%T%z`) or a blank for the T (spreadsheets, data frames), or
/// an epoch_time(). A time without an offset is none: whose midnight it counts from is not known.
std::optional<base::TimePoint> parse_history_time(std::string_view text);

/// Seconds (ten digits, and decimals as in Prometheus' answers) or milliseconds (thirteen digits) since 1970: 2001 to
/// 2286. nullopt if it is anything else.
std::optional<base::TimePoint> epoch_time(std::string_view text);

}  // namespace advising
