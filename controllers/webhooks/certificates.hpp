#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "controllers/webhooks/certificate_set.hpp"
#include "kube/client.hpp"

namespace controllers::webhooks {

struct CertificateOptions {
  std::string ns;
  std::string secret = "evacuator-webhook-tls";
  /// Name of the MutatingWebhookConfiguration that in_force() checks. Empty means none.
  std::string configuration = "evacuator-placement";
  /// Name of a Mutating- and a ValidatingWebhookConfiguration whose caBundles are managed, too. Empty means none.
  std::string admission_configuration{};
  CertificateRules rules;
  /// Paths of an external certificate and key. If set, they are served while they are a valid pair, and their provider
  /// (cert-manager) fills the caBundle. The Secret is not used.
  std::string cert_file{}, key_file{};
};

/// Certificate and CAs of the operator's webhooks, shared by all replicas through a Secret in the operator's
/// namespace. The leader creates it, replaces it when it is lost, broken, expired or for other names, rotates it, and
/// writes the CAs to the webhook configurations. Other replicas only read. Everything in the Secret can be
/// regenerated, so a broken one is overwritten. Thread-safe.
class Certificates {
 public:
  /// Starts serving a certificate. On error, the previous certificate stays in use.
  using Serve = std::function<base::Status(const http_server::ServerIdentity&)>;

  /// `serve` receives each new certificate to serve, on the thread of refresh(). The references must outlive this
  /// object. Ages of certificates use `clock`; refresh intervals use `steady`.
  Certificates(kube::Client& client, const base::Clock& clock, const base::Clock& steady, CertificateOptions options,
               Serve serve, base::Log log);

  /// Checks and rotates the certificates if due. Call about every second. `leads`: may write.
  void refresh(bool leads);
  /// Whether the API server calls and trusts this webhook, as far as known: the served certificate is valid now, and at
  /// the last check the configuration was installed, called a name in the certificate, and contained its CA.
  bool in_force() const;
  /// Current problem, empty if there is none.
  std::string problem() const;

  /// Interval between checks for external changes. After a failure the next check follows after kRetryInterval.
  static constexpr base::seconds kCheckInterval{60};
  static constexpr base::seconds kRetryInterval{5};

 private:
  struct FoundSecret {
    std::optional<CertificateSet> set;  ///< nullopt if no usable certificate exists
    base::Status done;                  ///< Error of reading or storing
  };

  base::Status look(bool leads);
  base::Status look_at_files();
  FoundSecret read_secret(bool leads, const std::string& trusted_next);
  base::Result<CertificateSet> store(const api::Json& secret, CertificateStep step, const CertificateSet* before);
  base::Status serve(const http_server::ServerIdentity& identity);
  struct Configuration {
    kube::ResourceType type;
    std::string name;
    std::string to_string() const { return std::string(type.kind) + " " + name; }
  };
  /// State of one webhook configuration after the due changes.
  struct Trust {
    bool trusts_current = false;  ///< Calls a served name and trusts the served certificate
    bool trusts_next = true;      ///< Trusts the next certificate, or is not installed
    base::Status done = base::Done{};
  };
  static std::vector<Configuration> configurations_of(const CertificateOptions& options);
  /// Returns nullopt if the configuration is not installed.
  base::Result<std::optional<api::Json>> read(const Configuration& configuration);
  /// `set` is nullptr if the CAs to trust are unknown or managed externally.
  base::Status inject(const CertificateSet* set, bool may_write);
  Trust inject(const Configuration& configuration, const CertificateSet* set, bool may_write);
  void record_result(const base::Status& looked, bool leads);

  kube::Client& client_;
  const base::Clock& clock_;
  const base::Clock& steady_;
  const CertificateOptions options_;
  const std::vector<Configuration> configurations_;
  const Serve serve_;
  const base::Log log_;

  std::mutex refreshing_;  ///< Serializes refresh(); guards the fields below up to mutex_
  base::TimePoint next_check_ = base::TimePoint::min();
  bool led_ = false;
  std::string trusted_next_;            ///< CA of the next certificate, if it was trusted at the last check
  http_server::ServerIdentity served_;  ///< Empty before the first certificate is served

  mutable std::mutex mutex_;  ///< Guards the fields below
  /// Validity of the served certificate; nullopt if none is served or it cannot be determined.
  std::optional<http_server::Validity> validity_;
  bool is_trusted_ = false;  ///< Whether the served certificate is trusted
  std::string problem_;
};

}  // namespace controllers::webhooks
