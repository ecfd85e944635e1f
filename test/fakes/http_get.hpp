#pragma once

#include <cstdint>
#include <string>

namespace fakes {

/// Sends a plain HTTP GET with these header lines to 127.0.0.1. Returns the complete answer including headers, or "" on
/// failure.
std::string http_get(std::uint16_t port, const std::string& path, const std::string& headers = "");

}  // namespace fakes
