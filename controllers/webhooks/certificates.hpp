#pragma once

#include <functional>
#include <memory>
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
  /// The MutatingWebhookConfiguration that in_force() is about; empty: none.
  std::string configuration = "evacuator-placement";
  /// MutatingWebhookConfiguration and ValidatingWebhookConfiguration of this name trust us as well; empty: none.
  std::string admission_configuration{};
  CertificateRules rules;
  /// Given: their content is served if it is a valid pair, and who puts it there (cert-manager) fills the caBundle. No
  /// Secret is touched.
  std::string cert_file{}, key_file{};
};

/// Certificate and trust of the operator's webhooks, shared by all replicas through a Secret of its namespace: the
/// leader makes it, makes it again when it is lost, broken, expired or for other names, rotates it, and puts the
/// authorities into the webhook configurations; the others only read. A Secret holds nothing here that could not
/// be made again, so a broken one is overwritten. Thread-safe.
class Certificates {
 public:
  /// Serves a certificate from now on. An error: it cannot, and serves the one before.
  using Serve = std::function<base::Status(const serving::ServerIdentity&)>;

  /// `serve` gets each certificate that is to be served from now on; on the thread of refresh(). The references must
  /// outlive it. Ages of certificates go by `clock`, the time between two looks by `steady`.
  Certificates(kube::Client& client, const base::Clock& clock, const base::Clock& steady, CertificateOptions options,
               Serve serve, base::Log log);

  /// Called every second or so; cheap while nothing is due. `leads`: it may write.
  void refresh(bool leads);
  /// The API server calls us, and trusts us, as far as can be known from here: what is served is valid now, and as of
  /// the last look the configuration is installed, calls us by a name that the certificate has, and has its authority.
  bool in_force() const;
  /// What is wrong; empty: nothing.
  std::string problem() const;

  /// What others change is noticed within this time; after a failure it is looked at again sooner.
  static constexpr base::seconds kLookEvery{60};
  static constexpr base::seconds kRetryEvery{5};

 private:
  struct FoundSecret {
    std::optional<CertificateSet> set;  ///< nullopt: there is none that can be served
    base::Status done;                  ///< what went wrong
  };

  base::Status look(bool leads);
  base::Status look_at_files();
  FoundSecret read_secret(bool leads, const std::string& trusted_next);
  base::Result<CertificateSet> store(const api::Json& secret, CertificateStep step, const CertificateSet* before);
  base::Status serve(const serving::ServerIdentity& identity);
  struct Configuration {
    kube::ResourceType type;
    std::string name;
    std::string to_string() const { return std::string(type.kind) + " " + name; }
  };
  /// How one of them stands, after what was due is done.
  struct Trust {
    bool in_us = false;       ///< it calls us by a name that is served, and trusts what is served
    bool in_the_next = true;  ///< and what comes after that, or it is not there
    base::Status done = base::Done{};
  };
  static std::vector<Configuration> configurations_of(const CertificateOptions& options);
  /// nullopt: it is not installed.
  base::Result<std::optional<api::Json>> read(const Configuration& configuration);
  /// `set` nullptr: which authorities are to be trusted is not known here, or somebody else's business.
  base::Status inject(const CertificateSet* set, bool may_write);
  Trust inject(const Configuration& configuration, const CertificateSet* set, bool may_write);
  base::Status write_bundle(const Configuration& configuration, const api::Json& patch);
  void conclude(const base::Status& looked, bool leads);

  kube::Client& client_;
  const base::Clock& clock_;
  const base::Clock& steady_;
  const CertificateOptions options_;
  const std::vector<Configuration> configurations_;
  const Serve serve_;
  const base::Log log_;

  std::mutex refreshing_;  ///< one look at a time; of what follows
  base::TimePoint next_look_ = base::TimePoint::min();
  bool led_ = false;
  std::string trusted_next_;        ///< authority of the next certificate, if it was trusted as of the last look
  serving::ServerIdentity served_;  ///< empty: none is yet

  mutable std::mutex mutex_;                   ///< of what follows
  std::optional<serving::Validity> validity_;  ///< of what is served; nullopt: nothing is, or it cannot be told
  bool is_trusted_ = false;                    ///< what is served
  std::string problem_;
};

}  // namespace controllers::webhooks
