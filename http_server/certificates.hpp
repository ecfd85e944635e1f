#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace http_server {

/// Throw-away certificate authority with one server certificate, in PEM.
struct ServerIdentity {
  std::string ca;
  std::string certificate;
  std::string key;
  friend bool operator==(const ServerIdentity&, const ServerIdentity&) = default;
};

/// A certificate is valid from kBackdated before its creation, because clocks differ.
inline constexpr std::chrono::hours kBackdated{24};
inline constexpr std::chrono::hours kTenYears{24 * 3650};

/// Makes an authority and a certificate for the given host names and IP addresses, on elliptic curve P-256. Both are
/// valid from kBackdated before `now` until `valid_for` after it. The key of the authority is discarded, so it cannot
/// sign anything else.
base::Result<ServerIdentity> make_server_identity(const std::vector<std::string>& names, base::TimePoint now,
                                                  const std::string& common_name = "kube-apiserver",
                                                  base::Duration valid_for = kTenYears);

struct Validity {
  base::TimePoint not_before;
  base::TimePoint not_after;
  friend bool operator==(const Validity&, const Validity&) = default;
};
/// Returns the validity of the first certificate in `pem`.
base::Result<Validity> validity_of(const std::string& pem);

/// Checks that a server can present the first certificate in `identity.certificate` under each of `names`: the key
/// matches the certificate and the certificate contains the names. Checks neither validity period nor authority. The
/// error says what is wrong.
base::Status check_pair(const ServerIdentity& identity, const std::vector<std::string>& names);

/// Checks that a client which trusts `identity.ca` accepts a server with this certificate and key under each of
/// `names`: the key matches the certificate, the authority signed it, and it contains the names. Does not check the
/// validity period. The error says what is wrong.
base::Status check_identity(const ServerIdentity& identity, const std::vector<std::string>& names);

}  // namespace http_server
