#include "test/fakes/tls_client.hpp"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

namespace fakes {
namespace {

std::string common_name_of(SSL* ssl) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl), X509_free);
  char name[256] = {};
  if (certificate) X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name, sizeof name);
  return name;
}

}  // namespace

TlsAnswer tls_get(std::uint16_t port, const std::string& path) {
  TlsAnswer answer;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> connection(BIO_new_ssl_connect(context.get()), BIO_free_all);
  BIO_set_conn_hostname(connection.get(), ("127.0.0.1:" + std::to_string(port)).c_str());
  if (BIO_do_connect(connection.get()) <= 0 || BIO_do_handshake(connection.get()) <= 0) return answer;
  SSL* ssl = nullptr;
  BIO_get_ssl(connection.get(), &ssl);
  answer.common_name = common_name_of(ssl);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  BIO_write(connection.get(), request.data(), static_cast<int>(request.size()));
  char bytes[4096];
  for (int got = 0; (got = BIO_read(connection.get(), bytes, sizeof bytes)) > 0;) answer.body.append(bytes, static_cast<std::size_t>(got));
  return answer;
}

}  // namespace fakes
