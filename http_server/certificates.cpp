#include "http_server/certificates.hpp"

#include <ctime>
#include <memory>
#include <optional>

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace http_server {
namespace {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* thing) const {
    Free(thing);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, Deleter<X509_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

std::time_t seconds_of(base::TimePoint time) {
  return std::chrono::duration_cast<base::seconds>(time.time_since_epoch()).count();
}

Key make_key() { return Key(EVP_EC_gen("P-256")); }

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

/// Sets subject, serial number, validity and public key; does not sign.
X509Ptr make_certificate(EVP_PKEY* key, const char* common_name, const Validity& valid) {
  X509Ptr certificate(X509_new());
  if (!certificate) return nullptr;
  X509_set_version(certificate.get(), X509_VERSION_3);
  unsigned char serial[16];
  if (RAND_bytes(serial, sizeof serial) != 1) return nullptr;
  serial[0] &= 0x7f;  // serial numbers must be positive
  const std::unique_ptr<BIGNUM, Deleter<BN_free>> number(BN_bin2bn(serial, sizeof serial, nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate.get()));
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), seconds_of(valid.not_before));
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), seconds_of(valid.not_after));
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(common_name), -1, -1, 0);
  return X509_set_pubkey(certificate.get(), key) == 1 ? std::move(certificate) : nullptr;
}

std::string text_of_bio(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

std::string pem_of(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return text_of_bio(bio.get());
}

std::string pem_of(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of_bio(bio.get());
}

bool is_address(const std::string& name) {
  const std::unique_ptr<ASN1_OCTET_STRING, Deleter<ASN1_OCTET_STRING_free>> address(a2i_IPADDRESS(name.c_str()));
  return address != nullptr;
}

X509Ptr make_authority(EVP_PKEY* key, const Validity& valid) {
  X509Ptr authority = make_certificate(key, "evacuator throw-away CA", valid);
  if (!authority) return nullptr;
  X509_set_issuer_name(authority.get(), X509_get_subject_name(authority.get()));
  const bool complete =
      add_extension(authority.get(), authority.get(), NID_basic_constraints, "critical,CA:TRUE") &&
      add_extension(authority.get(), authority.get(), NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(authority.get(), authority.get(), NID_subject_key_identifier, "hash");
  return complete && X509_sign(authority.get(), key, EVP_sha256()) > 0 ? std::move(authority) : nullptr;
}

X509Ptr make_leaf(EVP_PKEY* key, X509* authority, EVP_PKEY* authority_key, const std::vector<std::string>& names,
                  const std::string& common_name, const Validity& valid) {
  X509Ptr leaf = make_certificate(key, common_name.c_str(), valid);
  if (!leaf) return nullptr;
  X509_set_issuer_name(leaf.get(), X509_get_subject_name(authority));
  std::string alternatives;
  for (const std::string& name : names)
    alternatives += (alternatives.empty() ? "" : ",") + std::string(is_address(name) ? "IP:" : "DNS:") + name;
  const bool complete = add_extension(leaf.get(), authority, NID_subject_alt_name, alternatives) &&
                        add_extension(leaf.get(), authority, NID_ext_key_usage, "serverAuth") &&
                        add_extension(leaf.get(), authority, NID_authority_key_identifier, "keyid");
  return complete && X509_sign(leaf.get(), authority_key, EVP_sha256()) > 0 ? std::move(leaf) : nullptr;
}

}  // namespace

base::Result<ServerIdentity> make_server_identity(const std::vector<std::string>& names, base::TimePoint now,
                                                  const std::string& common_name, base::Duration valid_for) {
  for (const std::string& name : names) {
    if (name.empty() || name.find_first_of(",:\n") != std::string::npos) {
      if (!is_address(name)) return base::invalid("\"" + name + "\" is neither a host name nor an IP address");
    }
  }
  if (names.empty()) return base::invalid("a server certificate needs at least one host name or IP address");
  const Key authority_key = make_key();
  const Key key = make_key();
  if (!authority_key || !key) return base::unavailable("OpenSSL could not make a key");
  const Validity valid{now - kBackdated, now + valid_for};
  const X509Ptr authority = make_authority(authority_key.get(), valid);
  const X509Ptr leaf =
      authority ? make_leaf(key.get(), authority.get(), authority_key.get(), names, common_name, valid) : nullptr;
  if (!leaf) return base::unavailable("OpenSSL could not make a certificate");
  return ServerIdentity{pem_of(authority.get()), pem_of(leaf.get()), pem_of(key.get())};
}

namespace {

X509Ptr certificate_of(const std::string& pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return X509Ptr(bio ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr);
}

Key key_of(const std::string& pem) {
  const auto no_password = [](char*, int, int, void*) { return 0; };
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr);
}

std::optional<base::TimePoint> time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return base::TimePoint(base::seconds(timegm(&parts)));
}

bool is_for(X509* certificate, const std::string& name) {
  if (is_address(name)) return X509_check_ip_asc(certificate, name.c_str(), 0) == 1;
  return X509_check_host(certificate, name.c_str(), name.size(), 0, nullptr) == 1;
}

}  // namespace

base::Result<Validity> validity_of(const std::string& pem) {
  const X509Ptr certificate = certificate_of(pem);
  if (!certificate) return base::invalid("no certificate in PEM");
  const auto from = time_of(X509_get0_notBefore(certificate.get()));
  const auto until = time_of(X509_get0_notAfter(certificate.get()));
  if (!from || !until) return base::invalid("a certificate without validity");
  return Validity{*from, *until};
}

base::Status check_pair(const ServerIdentity& identity, const std::vector<std::string>& names) {
  const X509Ptr leaf = certificate_of(identity.certificate);
  const Key key = key_of(identity.key);
  if (!leaf) return base::invalid("the certificate is none in PEM");
  if (!key) return base::invalid("the key is none in PEM");
  if (X509_check_private_key(leaf.get(), key.get()) != 1) return base::invalid("the key is not the certificate's");
  for (const std::string& name : names) {
    if (!is_for(leaf.get(), name)) return base::invalid("the certificate is not for " + name);
  }
  return base::Done{};
}

base::Status check_identity(const ServerIdentity& identity, const std::vector<std::string>& names) {
  const X509Ptr authority = certificate_of(identity.ca);
  if (!authority) return base::invalid("the authority is not a certificate in PEM");
  if (auto pair = check_pair(identity, names); !pair) return pair;
  const X509Ptr leaf = certificate_of(identity.certificate);
  EVP_PKEY* const signer = X509_get0_pubkey(authority.get());
  if (signer == nullptr || X509_verify(leaf.get(), signer) != 1)
    return base::invalid("the authority has not signed the certificate");
  return base::Done{};
}

}  // namespace http_server
