#pragma once

/// The certificates under which the operator's webhooks are served, as they stand in a Secret, and what is to be done
/// with them. Pure but for random numbers.

#include <optional>
#include <string>
#include <vector>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "http_server/certificates.hpp"

namespace controllers::webhooks {

/// Each certificate has an authority of its own, whose key is thrown away: nobody can make another one with it.
struct CertificateSet {
  serving::ServerIdentity current;                ///< what is served
  std::optional<serving::ServerIdentity> next{};  ///< trusted already, and served once everybody trusts it
  std::string previous_ca{};                      ///< trusted still: a replica may serve its certificate for a while

  /// All authorities to trust, PEM: for caBundle.
  std::string trusted() const;
};

/// A Secret of type kubernetes.io/tls: tls.crt, tls.key, ca.crt; and next.crt, next.key, next-ca.crt, previous-ca.crt.
/// An error says which part makes no sense.
base::Result<CertificateSet> decode_certificates(const api::Json& secret);
/// `secret` (null: a new one of that name) with these. All else that is in it stays.
api::Json encode_certificates(api::Json secret, const std::string& ns, const std::string& name,
                              const CertificateSet& set);

struct CertificateRules {
  std::vector<std::string> names;  ///< that it is for: host names and IP addresses
  base::Duration valid_for = std::chrono::hours(24 * 90);
  base::Duration rotate_after = std::chrono::hours(24 * 60);
};

/// At least so long both authorities are trusted before the next certificate is served.
inline constexpr base::minutes kOverlap{10};

enum class CertificateStep {
  kKeep,
  kMake,     ///< there is none that can be served: a new one, at once
  kStage,    ///< the next one is made and trusted
  kPromote,  ///< the next one is served; the authority before it stays trusted
};
/// `set`: nullptr when there is none that makes sense. `next_is_trusted`: those who call know the next authority. Ages
/// count from the time at which a certificate was made. One that is not valid yet cannot be served.
CertificateStep next_step(const CertificateSet* set, const CertificateRules& rules, bool next_is_trusted,
                          base::TimePoint now);

/// Why the certificate that is served cannot be; empty: it can.
std::string why_unusable(const CertificateSet& set, const CertificateRules& rules, base::TimePoint now);

/// The set after that step. `set`: as for next_step(). An error: OpenSSL has no random numbers.
base::Result<CertificateSet> after_step(CertificateStep step, const CertificateSet* set, const CertificateRules& rules,
                                        base::TimePoint now);

}  // namespace controllers::webhooks
