#include "serving/certificates.hpp"

#include <memory>

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace serving {
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

constexpr long kDay = 24 * 60 * 60;

Key make_key() { return Key(EVP_EC_gen("P-256")); }

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

/// Subject, serial, validity and key; unsigned.
X509Ptr make_certificate(EVP_PKEY* key, const char* common_name, base::TimePoint now) {
  X509Ptr certificate(X509_new());
  if (!certificate) return nullptr;
  X509_set_version(certificate.get(), X509_VERSION_3);
  unsigned char serial[16];
  if (RAND_bytes(serial, sizeof serial) != 1) return nullptr;
  serial[0] &= 0x7f;  // positive
  const std::unique_ptr<BIGNUM, Deleter<BN_free>> number(BN_bin2bn(serial, sizeof serial, nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate.get()));
  const std::time_t seconds = std::chrono::duration_cast<base::seconds>(now.time_since_epoch()).count();
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), seconds - kDay);
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), seconds + 3650 * kDay);
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

X509Ptr make_authority(EVP_PKEY* key, base::TimePoint now) {
  X509Ptr authority = make_certificate(key, "evacuator throw-away CA", now);
  if (!authority) return nullptr;
  X509_set_issuer_name(authority.get(), X509_get_subject_name(authority.get()));
  const bool complete =
      add_extension(authority.get(), authority.get(), NID_basic_constraints, "critical,CA:TRUE") &&
      add_extension(authority.get(), authority.get(), NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(authority.get(), authority.get(), NID_subject_key_identifier, "hash");
  return complete && X509_sign(authority.get(), key, EVP_sha256()) > 0 ? std::move(authority) : nullptr;
}

X509Ptr make_leaf(EVP_PKEY* key, X509* authority, EVP_PKEY* authority_key, const std::vector<std::string>& names,
                  const std::string& common_name, base::TimePoint now) {
  X509Ptr leaf = make_certificate(key, common_name.c_str(), now);
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
                                                  const std::string& common_name) {
  for (const std::string& name : names) {
    if (name.empty() || name.find_first_of(",:\n") != std::string::npos) {
      if (!is_address(name)) return base::invalid("\"" + name + "\" is neither a host name nor an IP address");
    }
  }
  if (names.empty()) return base::invalid("a server certificate needs at least one host name or IP address");
  const Key authority_key = make_key();
  const Key key = make_key();
  if (!authority_key || !key) return base::unavailable("OpenSSL could not make a key");
  const X509Ptr authority = make_authority(authority_key.get(), now);
  const X509Ptr leaf =
      authority ? make_leaf(key.get(), authority.get(), authority_key.get(), names, common_name, now) : nullptr;
  if (!leaf) return base::unavailable("OpenSSL could not make a certificate");
  return ServerIdentity{pem_of(authority.get()), pem_of(leaf.get()), pem_of(key.get())};
}

}  // namespace serving
