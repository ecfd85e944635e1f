#pragma once

#include <cstdint>
#include <string>

namespace fakes {

/// One plain GET to 127.0.0.1, with these header lines; the whole answer, header included, "" when it failed.
std::string http_get(std::uint16_t port, const std::string& path, const std::string& headers = "");

}  // namespace fakes
