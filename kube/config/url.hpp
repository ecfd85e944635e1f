#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace kube {

/// Parts of "https://user:secret@[::1]:6443/base".
struct Url {
  bool tls = true;
  std::string host;  ///< without brackets
  std::uint16_t port = 0;
  std::string path;       ///< without trailing slash; empty for the root
  std::string user_info;  ///< decoded "user:password", empty for none. Secret.

  /// Returns host:port as in the header Host, with brackets around IPv6 and without the scheme's default port.
  std::string authority() const;
  bool is_ipv6() const { return host.find(':') != std::string::npos; }
  /// Returns true for loopback addresses, whose traffic does not leave this machine. 127.evil.example is a name, not
  /// loopback.
  bool is_loopback() const;
};

/// Parses http:// and https:// URLs. A missing scheme counts as https, as in kubectl. Errors never quote the user info.
base::Result<Url> parse_url(std::string_view text);

}  // namespace kube
