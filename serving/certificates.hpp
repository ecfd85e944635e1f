#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace serving {

/// A throw-away certificate authority with one server certificate, PEM.
struct ServerIdentity {
  std::string ca;
  std::string certificate;
  std::string key;
};

/// For those host names and IP addresses, valid from a day before `now` for ten years. Elliptic curve P-256.
base::Result<ServerIdentity> make_server_identity(const std::vector<std::string>& names, base::TimePoint now,
                                                  const std::string& common_name = "kube-apiserver");

}  // namespace serving
