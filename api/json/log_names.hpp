#pragma once

#include <array>

#include "api/json/strict_object.hpp"
#include "base/log.hpp"

namespace api {

/// Values of `logging.level` and `logging.format` in configuration files.
inline constexpr std::array kLogLevels = {
    WireName<base::LogLevel>{base::LogLevel::kDebug, "debug"},
    WireName<base::LogLevel>{base::LogLevel::kInfo, "info"},
    WireName<base::LogLevel>{base::LogLevel::kWarning, "warning"},
    WireName<base::LogLevel>{base::LogLevel::kError, "error"},
};
inline constexpr std::array kLogFormats = {
    WireName<base::LogFormat>{base::LogFormat::kText, "text"},
    WireName<base::LogFormat>{base::LogFormat::kJson, "json"},
};

}  // namespace api
