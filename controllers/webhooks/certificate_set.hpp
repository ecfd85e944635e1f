#pragma once

/// Certificates of the webhooks as stored in a Secret, and the steps of their rotation. Pure except for random numbers.

#include <optional>
#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "http_server/certificates.hpp"

namespace controllers::webhooks {

/// Certificates of one Secret. Each has its own CA whose key is discarded.
struct CertificateSet {
  http_server::ServerIdentity current;  ///< Served certificate
  /// Next certificate: its CA is already trusted; it is served once every configuration trusts it.
  std::optional<http_server::ServerIdentity> next{};
  std::string previous_ca{};  ///< Still trusted, because another replica may serve its certificate for a while

  /// All trusted CAs as PEM, for caBundle.
  std::string trusted() const;
};

/// Decodes a Secret of type kubernetes.io/tls with entries tls.crt, tls.key, ca.crt, and next.crt, next.key,
/// next-ca.crt, previous-ca.crt. The error names the invalid entry.
base::Result<CertificateSet> decode_certificates(const api::Json& secret);
/// Returns `secret` with these certificates; null creates a new Secret of that name. Other entries are preserved.
api::Json encode_certificates(api::Json secret, const std::string& ns, const std::string& name,
                              const CertificateSet& set);

struct CertificateRules {
  std::vector<std::string> names;  ///< Host names and IP addresses in the certificate
  base::Duration valid_for = std::chrono::hours(24 * 90);
  base::Duration rotate_after = std::chrono::hours(24 * 60);
};

/// Minimum time during which both CAs are trusted before the next certificate is served.
inline constexpr base::minutes kOverlap{10};

enum class CertificateStep {
  kKeep,
  kMake,     ///< No usable certificate exists: create one and serve it immediately
  kStage,    ///< Create the next certificate and trust its CA
  kPromote,  ///< Serve the next certificate; its predecessor's CA stays trusted
};
/// Returns the next step. `set` is nullptr if no valid set exists. `next_is_trusted` means that all callers trust the
/// next CA. Ages count from the creation of a certificate. A certificate that is not valid yet cannot be served.
CertificateStep next_step(const CertificateSet* set, const CertificateRules& rules, bool next_is_trusted,
                          base::TimePoint now);

/// Explains why the current certificate cannot be served. Returns an empty string if it can.
std::string why_unusable(const CertificateSet& set, const CertificateRules& rules, base::TimePoint now);

/// Returns the set after `step`. `set` as in next_step(). Returns an error if OpenSSL has no random numbers.
base::Result<CertificateSet> after_step(CertificateStep step, const CertificateSet* set, const CertificateRules& rules,
                                        base::TimePoint now);

}  // namespace controllers::webhooks
