#include "controllers/webhooks/certificates.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "controllers/webhooks/ca_bundle.hpp"
#include "kube/config/files.hpp"

namespace controllers::webhooks {
namespace {

using api::Json;
using base::kv;

constexpr kube::ResourceType kSecrets{"", "v1", "secrets", "Secret"};
constexpr kube::ResourceType kConfigurations{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
                                             "MutatingWebhookConfiguration", false};

const char* name_of(CertificateStep step) {
  switch (step) {
    case CertificateStep::kKeep: return "kept";
    case CertificateStep::kMake: return "made";
    case CertificateStep::kStage: return "next one made";
    case CertificateStep::kPromote: return "rotated";
  }
  return "";
}

}  // namespace

Certificates::Certificates(kube::Client& client, const base::Clock& clock, const base::Clock& steady,
                           CertificateOptions options, std::function<void(const serving::ServerIdentity&)> changed,
                           base::Log log)
    : client_(client),
      clock_(clock),
      steady_(steady),
      options_(std::move(options)),
      changed_(std::move(changed)),
      log_(log.with({kv("secret", options_.ns + "/" + options_.secret)})),
      problem_("the webhook's certificate is not read yet") {}

void Certificates::refresh(bool leads) {
  const std::scoped_lock lock(refreshing_);
  if (steady_.now() < next_look_ && leads == led_) return;
  led_ = leads;
  conclude(options_.cert_file.empty() ? look(leads) : look_at_files(), leads);
}

base::Status Certificates::look(bool leads) {
  const auto set = read_secret(leads);
  if (!set) return set.error().during(fmt::format("Secret {}/{}", options_.ns, options_.secret));
  serve(set->current);
  return inject(leads, set->trusted());
}

base::Status Certificates::look_at_files() {
  auto chain = kube::read_file(options_.cert_file);
  if (!chain) return chain.error().during("webhook.certFile");
  auto key = kube::read_file(options_.key_file);
  if (!key) return key.error().during("webhook.keyFile");
  serve({"", *std::move(chain), *std::move(key)});
  return inject(false, "");
}

/// The certificates as they are after whatever was due is done. A replica that does not lead takes what there is.
base::Result<CertificateSet> Certificates::read_secret(bool leads) {
  const auto body = client_.get(kSecrets, {options_.ns, options_.secret});
  if (!body && !base::is_not_found(body.error())) return body.error();
  Json secret;
  if (body) {
    auto parsed = api::parse_json(*body);
    if (!parsed) return parsed.error();
    secret = *std::move(parsed);
  }
  const auto set = decode_certificates(secret);
  const base::TimePoint now = clock_.now();
  const CertificateSet* known = set ? &*set : nullptr;
  const CertificateStep step = next_step(known, options_.rules, next_is_trusted_, now);
  if (leads && step != CertificateStep::kKeep) return store(secret, step, known);
  if (step != CertificateStep::kMake) return set;
  if (!body) return base::unavailable("it is not there; the leader makes it");
  return base::unavailable("the leader has to make it again: " +
                           (set ? why_unusable(*set, options_.rules, now) : set.error().message));
}

/// An update is guarded by the resourceVersion that was read; of two that create it one is first, and the other reads
/// that at its next look.
base::Result<CertificateSet> Certificates::store(const Json& secret, CertificateStep step,
                                                 const CertificateSet* before) {
  auto set = after_step(step, before, options_.rules, clock_.now());
  if (!set) return set;
  const Json next = encode_certificates(secret, options_.ns, options_.secret, *set);
  const auto written = secret.is_object() ? client_.update(kSecrets, {options_.ns, options_.secret}, next)
                                          : client_.create(kSecrets, options_.ns, next);
  if (!written) return written.error().during("writing it");
  log_.info("certificate of the webhook", {kv("step", name_of(step))});
  return set;
}

void Certificates::serve(const serving::ServerIdentity& identity) {
  const std::string now = identity.certificate + identity.key;
  if (now == served_) return;
  changed_(identity);
  served_ = now;
}

base::Result<std::optional<Json>> Certificates::read_configuration() {
  const auto body = client_.get(kConfigurations, {"", options_.configuration});
  if (!body && base::is_not_found(body.error())) return std::optional<Json>();
  if (!body) return body.error().during("reading MutatingWebhookConfiguration " + options_.configuration);
  auto parsed = api::parse_json(*body);
  if (!parsed) return parsed.error();
  return std::optional(*std::move(parsed));
}

/// `trusted` empty: somebody else fills the caBundle.
base::Status Certificates::inject(bool leads, const std::string& trusted) {
  const auto configuration = read_configuration();
  const auto conclude_with = [&](bool in_force, bool next_is_trusted) {
    next_is_trusted_ = next_is_trusted;
    const std::scoped_lock lock(mutex_);
    in_force_ = in_force;
  };
  if (!configuration) return conclude_with(false, false), configuration.error();
  if (!*configuration) {
    conclude_with(false, true);
    return base::Error{base::ErrorCode::kNotFound,
                       fmt::format("MutatingWebhookConfiguration {} is not installed: nobody calls the webhook",
                                   options_.configuration)};
  }
  const auto patch = trusted.empty() ? std::nullopt : ca_patch(**configuration, trusted);
  const bool has_bundles = patch || has_ca_bundles(**configuration);
  if (!patch || !leads) return conclude_with(has_bundles && !patch, has_bundles && !patch), base::Done{};
  const auto patched = client_.patch(kConfigurations, {"", options_.configuration}, kube::PatchType::kJson, *patch);
  conclude_with(patched.ok() && has_bundles, patched.ok());
  if (!patched) return patched.error().during("writing caBundle of " + options_.configuration);
  log_.info("caBundle written", {kv("configuration", options_.configuration)});
  return base::Done{};
}

void Certificates::conclude(const base::Status& looked, bool leads) {
  next_look_ = steady_.now() + (looked ? kLookEvery : kRetryEvery);
  const std::string problem = looked ? std::string() : looked.error().message;
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(problem_, problem) == problem) return;
  }
  if (looked) return log_.info("the webhook's certificate is in place");
  if (!leads && looked.error().code == base::ErrorCode::kUnavailable)
    return log_.info("waiting for the webhook's certificate", {kv("problem", problem)});
  log_.warning("the webhook cannot be called", {kv("problem", problem)});
}

bool Certificates::in_force() const {
  const std::scoped_lock lock(mutex_);
  return in_force_;
}

std::string Certificates::problem() const {
  const std::scoped_lock lock(mutex_);
  return problem_;
}

}  // namespace controllers::webhooks
