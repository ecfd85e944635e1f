#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace kube {

/// "https://user:secret@[::1]:6443/base" in parts.
struct Url {
  bool tls = true;
  std::string host;  ///< without brackets
  std::uint16_t port = 0;
  std::string path;       ///< without trailing slash; empty for the root
  std::string user_info;  ///< decoded "user:password"; empty: none. Secret.

  /// host:port as in the header Host; brackets around IPv6, no port where it is the scheme's own.
  std::string authority() const;
  bool is_ipv6() const { return host.find(':') != std::string::npos; }
  /// This machine: what is sent there does not leave it. 127.evil.example is a name, not loopback.
  bool is_loopback() const;
};

/// http:// or https:// only; a missing scheme counts as https, as in kubectl. Errors never quote the user info.
base::Result<Url> parse_url(std::string_view text);

}  // namespace kube
