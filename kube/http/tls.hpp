#pragma once

/// OpenSSL settings shared by both HTTP engines. Included only by .cpp files of the transport.

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/result.hpp"

namespace kube {

/// Trusted roots and client certificate of a TLS connection, in PEM.
struct TlsMaterial {
  std::string ca_pem;  ///< empty for the system's roots
  bool insecure_skip_verify = false;
  std::string client_certificate_pem;
  std::string client_key_pem;
  friend bool operator==(const TlsMaterial&, const TlsMaterial&) = default;
};

/// Configures TLS 1.2 or newer, exactly these roots (no defaults) and the client certificate. Errors name the invalid
/// PEM and the reason, and never quote it.
base::Status configure_tls(SSL_CTX* context, const TlsMaterial& material);

using TlsContext = std::shared_ptr<SSL_CTX>;
base::Result<TlsContext> make_tls_context(const TlsMaterial& material);

/// Configures one connection: SNI (unless `name` is an IP address), verification that the certificate is valid for
/// `name`, and `why`, which receives the reason of a refusal and must outlive the handshake. Verifies nothing if
/// `verify` is false.
base::Status expect_peer(SSL* connection, const std::string& name, bool verify, std::string* why);

bool is_ip_address(const std::string& host);

/// Returns OpenSSL's text for an error code, such as "wrong version number". For messages only.
std::string openssl_reason(unsigned long code);

}  // namespace kube
