#include "kube/http/tls.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "kube/config/files.hpp"
#include "kube/config/process_environment.hpp"

namespace kube {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

constexpr const char* kSystemRoots[] = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Alpine, distroless
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, older RHEL
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // RHEL
    "/etc/ssl/ca-bundle.pem",                             // SUSE
    "/etc/ssl/cert.pem",
};

Bio memory_of(const std::string& pem) { return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free}; }

/// Prevents OpenSSL from asking a terminal for a passphrase.
int no_passphrase(char*, int, int, void*) { return 0; }

Certificate next_certificate(BIO* from) {
  return {PEM_read_bio_X509(from, nullptr, no_passphrase, nullptr), &X509_free};
}

std::string last_reason() { return openssl_reason(ERR_peek_last_error()); }

base::Status add_roots(X509_STORE* store, const std::string& pem, const std::string& what) {
  const Bio from = memory_of(pem);
  int added = 0;
  while (const Certificate each = next_certificate(from.get())) added += X509_STORE_add_cert(store, each.get());
  ERR_clear_error();
  if (added > 0) return base::Done{};
  return base::invalid(what + " contains no readable certificate (PEM, \"-----BEGIN CERTIFICATE-----\")");
}

base::Status add_system_roots(X509_STORE* store) {
  const auto environment = child_environment();
  if (const auto at = environment.find("SSL_CERT_FILE"); at != environment.end()) {
    const auto pem = read_file(at->second);
    if (!pem) return pem.error().during("reading SSL_CERT_FILE");
    return add_roots(store, *pem, at->second);
  }
  for (const char* path : kSystemRoots) {
    if (const auto pem = read_file(path)) return add_roots(store, *pem, path);
  }
  return base::invalid(
      "no certificate-authority is configured and the system has no bundle of root certificates; add "
      "certificate-authority to the kubeconfig or install ca-certificates");
}

/// An encrypted PKCS #8 key has ENCRYPTED in its first line, an older one in a header.
std::string fix_of(const std::string& key_pem) {
  const bool is_encrypted = key_pem.find("ENCRYPTED") != std::string::npos;
  return is_encrypted ? " (it is encrypted, which is not supported; decrypt it with openssl pkey)" : "";
}

base::Status use_client_certificate(SSL_CTX* context, const TlsMaterial& material) {
  const Bio chain = memory_of(material.client_certificate_pem);
  const Certificate own = next_certificate(chain.get());
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1)
    return base::invalid("the client certificate is not readable: " + last_reason());
  while (Certificate next = next_certificate(chain.get())) SSL_CTX_add_extra_chain_cert(context, next.release());
  ERR_clear_error();  // the end of the chain sets an error
  const Bio from = memory_of(material.client_key_pem);
  const Key key(PEM_read_bio_PrivateKey(from.get(), nullptr, no_passphrase, nullptr), &EVP_PKEY_free);
  if (!key)
    return base::invalid("the client key is not readable" + fix_of(material.client_key_pem) + ": " + last_reason());
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1)
    return base::invalid("the client key does not match the client certificate");
  return base::Done{};
}

int reason_slot() {
  static const int kSlot = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return kSlot;
}

std::string time_text(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable time";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string names_in(X509* certificate) {
  std::string names;
  auto* all = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; all != nullptr && i < sk_GENERAL_NAME_num(all) && i < 10; ++i) {
    const GENERAL_NAME* each = sk_GENERAL_NAME_value(all, i);
    if (each->type != GEN_DNS && each->type != GEN_IPADD) continue;
    const ASN1_STRING* value = each->type == GEN_DNS ? each->d.dNSName : each->d.iPAddress;
    const auto* data = ASN1_STRING_get0_data(value);
    const int size = ASN1_STRING_length(value);
    char text[INET6_ADDRSTRLEN] = "?";
    if (each->type == GEN_IPADD) ::inet_ntop(size == 4 ? AF_INET : AF_INET6, data, text, sizeof text);
    if (!names.empty()) names += ", ";
    names +=
        each->type == GEN_DNS ? std::string(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)) : text;
  }
  GENERAL_NAMES_free(all);
  return names.empty() ? "no name at all" : names;
}

/// Called by OpenSSL for each certificate. Records why a certificate is refused, with details for a fix.
int note_refusal(int accepted, X509_STORE_CTX* store) {
  auto* connection = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* why = connection == nullptr ? nullptr : static_cast<std::string*>(SSL_get_ex_data(connection, reason_slot()));
  if (accepted == 1 || why == nullptr) return accepted;
  const int error = X509_STORE_CTX_get_error(store);
  X509* certificate = X509_STORE_CTX_get_current_cert(store);
  *why = X509_verify_cert_error_string(error);
  if (certificate == nullptr) return accepted;
  if (error == X509_V_ERR_CERT_HAS_EXPIRED) *why += " (on " + time_text(X509_get0_notAfter(certificate)) + ")";
  if (error == X509_V_ERR_CERT_NOT_YET_VALID)
    *why += " (valid from " + time_text(X509_get0_notBefore(certificate)) + ")";
  if (error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH)
    *why += " (the certificate is for " + names_in(certificate) + "; set tls-server-name if that is right)";
  if (error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY || error == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
      error == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT || error == X509_V_ERR_CERT_SIGNATURE_FAILURE)
    *why += " (not issued by the configured certificate-authority)";
  return accepted;
}

}  // namespace

std::string openssl_reason(unsigned long code) {
  const char* text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text == nullptr ? "unknown reason" : text;
}

bool is_ip_address(const std::string& host) {
  unsigned char parsed[16];
  return ::inet_pton(AF_INET, host.c_str(), parsed) == 1 || ::inet_pton(AF_INET6, host.c_str(), parsed) == 1;
}

base::Status configure_tls(SSL_CTX* context, const TlsMaterial& material) {
  ERR_clear_error();
  SSL_CTX_set_cert_store(context, X509_STORE_new());  // drops the default roots
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  if (!material.insecure_skip_verify) {
    X509_STORE* store = SSL_CTX_get_cert_store(context);
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);  // a bundle may contain only the intermediate authority
    auto added = material.ca_pem.empty() ? add_system_roots(store)
                                         : add_roots(store, material.ca_pem, "the certificate-authority");
    if (!added) return added;
  }
  if (material.client_certificate_pem.empty()) return base::Done{};
  return use_client_certificate(context, material);
}

base::Result<TlsContext> make_tls_context(const TlsMaterial& material) {
  TlsContext context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  if (!context) return base::unavailable("OpenSSL cannot allocate memory for a TLS context");
  if (auto done = configure_tls(context.get(), material); !done) return std::move(done).error();
  return context;
}

base::Status expect_peer(SSL* connection, const std::string& name, bool verify, std::string* why) {
  SSL_set_ex_data(connection, reason_slot(), why);
  SSL_set_verify(connection, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, &note_refusal);
  const bool is_ip = is_ip_address(name);
  if (!is_ip && SSL_set_tlsext_host_name(connection, name.c_str()) != 1)
    return base::invalid("not a valid TLS server name: " + name);
  if (!verify) return base::Done{};
  const int set = is_ip ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), name.c_str())
                        : SSL_set1_host(connection, name.c_str());
  if (set != 1) return base::invalid("not a valid TLS server name: " + name);
  SSL_set_hostflags(connection, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return base::Done{};
}

}  // namespace kube
