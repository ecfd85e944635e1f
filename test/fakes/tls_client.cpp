#include "test/fakes/tls_client.hpp"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

namespace fakes {
namespace {

std::string serial_of(SSL* ssl) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl), X509_free);
  std::string digits;
  if (!certificate) return digits;
  const ASN1_INTEGER* serial = X509_get0_serialNumber(certificate.get());
  for (int i = 0; i < ASN1_STRING_length(serial); ++i)
    digits += "0123456789abcdef"[ASN1_STRING_get0_data(serial)[i] % 16];
  return digits;
}

}  // namespace

TlsAnswer tls_get(std::uint16_t port, const std::string& path, const std::string& headers) {
  TlsAnswer answer;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> connection(BIO_new_ssl_connect(context.get()), BIO_free_all);
  BIO_set_conn_hostname(connection.get(), ("127.0.0.1:" + std::to_string(port)).c_str());
  if (BIO_do_connect(connection.get()) <= 0 || BIO_do_handshake(connection.get()) <= 0) return answer;
  SSL* ssl = nullptr;
  BIO_get_ssl(connection.get(), &ssl);
  answer.serial = serial_of(ssl);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "Connection: close\r\n\r\n";
  BIO_write(connection.get(), request.data(), static_cast<int>(request.size()));
  char bytes[4096];
  for (int got = 0; (got = BIO_read(connection.get(), bytes, sizeof bytes)) > 0;)
    answer.body.append(bytes, static_cast<std::size_t>(got));
  return answer;
}

}  // namespace fakes
