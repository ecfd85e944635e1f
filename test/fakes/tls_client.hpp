#pragma once

#include <cstdint>
#include <string>

namespace fakes {

struct TlsAnswer {
  std::string serial;  ///< of the server's certificate, hexadecimal
  std::string body;    ///< the whole answer, header included
};

/// One GET over TLS to 127.0.0.1, without verification; each of `headers` ends with CRLF. Empty fields when it failed.
TlsAnswer tls_get(std::uint16_t port, const std::string& path, const std::string& headers = "");

}  // namespace fakes
