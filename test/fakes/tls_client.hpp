#pragma once

#include <cstdint>
#include <string>

namespace fakes {

struct TlsAnswer {
  std::string serial;  ///< Serial of the server's certificate, hexadecimal
  std::string body;    ///< Complete answer including headers
};

/// Sends a GET over TLS to 127.0.0.1 without verification. Each of `headers` must end with CRLF. Fields are empty on
/// failure.
TlsAnswer tls_get(std::uint16_t port, const std::string& path, const std::string& headers = "");

}  // namespace fakes
