#pragma once

#include <chrono>
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
  friend bool operator==(const ServerIdentity&, const ServerIdentity&) = default;
};

/// How long before it is made a certificate is valid already: clocks differ.
inline constexpr std::chrono::hours kBackdated{24};
inline constexpr std::chrono::hours kTenYears{24 * 3650};

/// For those host names and IP addresses, valid from kBackdated before `now` until `valid_for` after it. Elliptic curve
/// P-256. The authority's key is thrown away: it signs nothing else.
base::Result<ServerIdentity> make_server_identity(const std::vector<std::string>& names, base::TimePoint now,
                                                  const std::string& common_name = "kube-apiserver",
                                                  base::Duration valid_for = kTenYears);

/// From when and until when a certificate is valid.
struct Validity {
  base::TimePoint not_before;
  base::TimePoint not_after;
  friend bool operator==(const Validity&, const Validity&) = default;
};
/// Of the first certificate in `pem`.
base::Result<Validity> validity_of(const std::string& pem);

/// Whether a server can show the certificate (the first one in `identity.certificate`) under each of `names`: the key
/// is the certificate's, the names are in it. The error says what is wrong; neither validity nor authority is looked
/// at.
base::Status check_pair(const ServerIdentity& identity, const std::vector<std::string>& names);

/// Whether a client that trusts `identity.ca` gets on with a server that shows the rest under each of `names`: the key
/// is the certificate's, the authority signed it, the names are in it. The error says what is wrong; validity is not
/// looked at.
base::Status check_identity(const ServerIdentity& identity, const std::vector<std::string>& names);

}  // namespace serving
