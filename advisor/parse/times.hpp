#pragma once

/// Parses the time formats of logs and tables. Pure.

#include <optional>
#include <string_view>

#include "base/clock.hpp"

namespace advisor {

/// Parses RFC 3339, also with an offset without colon (`date +%FT%T%z`) or a space instead of T (spreadsheets, data
/// frames), or an epoch_time(). Returns nullopt for a time without an offset, because its time zone is unknown.
std::optional<base::TimePoint> parse_history_time(std::string_view text);

/// Parses seconds (ten digits, optional decimals as in Prometheus responses) or milliseconds (thirteen digits) since
/// 1970, which covers 2001 to 2286. Returns nullopt otherwise.
std::optional<base::TimePoint> epoch_time(std::string_view text);

}  // namespace advisor
