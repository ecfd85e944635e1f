#pragma once

/// OpenSSL settings that both HTTP engines share. Included by the transport's .cpp files only.

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/result.hpp"

namespace kube {

/// All that decides what a TLS connection trusts and shows. PEM texts.
struct TlsMaterial {
  std::string ca_pem;  ///< empty: the system's roots
  bool insecure_skip_verify = false;
  std::string client_certificate_pem;
  std::string client_key_pem;
  friend bool operator==(const TlsMaterial&, const TlsMaterial&) = default;
};

/// TLS 1.2 or newer, exactly these roots (none of the defaults), the client certificate. Errors say which PEM is
/// broken, and why; they never quote it.
base::Status configure_tls(SSL_CTX* context, const TlsMaterial& material);

using TlsContext = std::shared_ptr<SSL_CTX>;
base::Result<TlsContext> make_tls_context(const TlsMaterial& material);

/// Per connection: SNI (unless `name` is an IP address), the check that the certificate is for `name`, and a place
/// where the reason of a refusal is written. `why` must outlive the handshake. With `verify` false nothing is checked.
base::Status expect_peer(SSL* connection, const std::string& name, bool verify, std::string* why);

bool is_ip_address(const std::string& host);

/// What OpenSSL's newest error says: "wrong version number". For messages only.
std::string openssl_reason(unsigned long code);

}  // namespace kube
