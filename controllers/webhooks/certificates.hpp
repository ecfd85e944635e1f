#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "controllers/webhooks/certificate_set.hpp"
#include "kube/client.hpp"

namespace controllers::webhooks {

struct CertificateOptions {
  std::string ns;
  std::string secret = "evacuator-webhook-tls";
  std::string configuration = "evacuator-placement";  ///< the MutatingWebhookConfiguration
  CertificateRules rules;
  /// Given: their content is served, and who puts it there (cert-manager) fills the caBundle. No Secret is touched.
  std::string cert_file{}, key_file{};
};

/// Certificate and trust of the operator's webhooks, shared by all replicas through a Secret of its namespace: the
/// leader makes it, makes it again when it is lost, broken, expired or for other names, rotates it, and puts the
/// authorities into the MutatingWebhookConfiguration; the others only read. A Secret holds nothing here that could not
/// be made again, so a broken one is overwritten. Thread-safe.
class Certificates {
 public:
  /// `changed` gets each certificate that is to be served from now on; on the thread of refresh(). The references must
  /// outlive it. Ages of certificates go by `clock`, the time between two looks by `steady`.
  Certificates(kube::Client& client, const base::Clock& clock, const base::Clock& steady, CertificateOptions options,
               std::function<void(const serving::ServerIdentity&)> changed, base::Log log);

  /// Called every second or so; cheap while nothing is due. `leads`: it may write.
  void refresh(bool leads);
  /// The API server calls us, and trusts us, as of the last look: the configuration is installed, and has our
  /// authorities.
  bool in_force() const;
  /// What is wrong; empty: nothing.
  std::string problem() const;

  /// What others change is noticed within this time; after a failure it is looked at again sooner.
  static constexpr base::seconds kLookEvery{60};
  static constexpr base::seconds kRetryEvery{5};

 private:
  base::Status look(bool leads);
  base::Status look_at_files();
  base::Result<CertificateSet> read_secret(bool leads);
  base::Result<CertificateSet> store(const api::Json& secret, CertificateStep step, const CertificateSet* before);
  void serve(const serving::ServerIdentity& identity);
  /// nullopt: it is not installed.
  base::Result<std::optional<api::Json>> read_configuration();
  base::Status inject(bool leads, const std::string& trusted);
  void conclude(const base::Status& looked, bool leads);

  kube::Client& client_;
  const base::Clock& clock_;
  const base::Clock& steady_;
  const CertificateOptions options_;
  const std::function<void(const serving::ServerIdentity&)> changed_;
  const base::Log log_;

  std::mutex refreshing_;  ///< one look at a time; of what follows
  base::TimePoint next_look_ = base::TimePoint::min();
  bool led_ = false;
  bool next_is_trusted_ = false;  ///< as of the last look: the whole set was injected, or nobody is to trust it
  std::string served_;            ///< certificate

  mutable std::mutex mutex_;  ///< of what follows
  bool in_force_ = false;
  std::string problem_;
};

}  // namespace controllers::webhooks
