#include "controllers/webhooks/certificates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "controllers/webhooks/ca_bundle.hpp"
#include "kube/config/files.hpp"

namespace controllers::webhooks {
namespace {

using api::Json;
using base::kv;

constexpr kube::ResourceType kSecrets{"", "v1", "secrets", "Secret"};
constexpr std::array<const char*, 4> kStepNames = {"kept", "made", "next one made", "rotated"};  // by CertificateStep

/// Returns the period in which both certificate and CA are valid.
std::optional<http_server::Validity> validity_of(const http_server::ServerIdentity& identity) {
  const auto leaf = http_server::validity_of(identity.certificate);
  if (!leaf) return std::nullopt;
  if (identity.ca.empty()) return *leaf;
  const auto ca = http_server::validity_of(identity.ca);
  if (!ca) return std::nullopt;
  return http_server::Validity{std::max(leaf->not_before, ca->not_before), std::min(leaf->not_after, ca->not_after)};
}

bool is_valid(const http_server::Validity& validity, base::TimePoint now) {
  return validity.not_before <= now && now < validity.not_after;
}

/// Checks a pair from files. The names under which it is called are unknown here.
base::Status check_files(const http_server::ServerIdentity& identity, base::TimePoint now) {
  if (auto pair = http_server::check_pair(identity, {}); !pair) return pair;
  const auto validity = validity_of(identity);
  if (validity && is_valid(*validity, now)) return base::Done{};
  if (!validity) return base::invalid("a certificate without validity");
  return base::invalid(now < validity->not_before ? "it is not valid before " + base::format_time(validity->not_before)
                                                  : "it has expired at " + base::format_time(validity->not_after));
}

std::string next_ca(const CertificateSet* set) { return set != nullptr && set->next ? set->next->ca : std::string(); }

}  // namespace

std::vector<Certificates::Configuration> Certificates::configurations_of(const CertificateOptions& options) {
  std::vector<Configuration> all;
  if (!options.configuration.empty()) all.push_back({kMutating, options.configuration});
  const std::string& admission = options.admission_configuration;
  if (!admission.empty()) all.insert(all.end(), {{kMutating, admission}, {kValidating, admission}});
  return all;
}

Certificates::Certificates(kube::Client& client, const base::Clock& clock, const base::Clock& steady,
                           CertificateOptions options, Serve serve, base::Log log)
    : client_(client),
      clock_(clock),
      steady_(steady),
      options_(std::move(options)),
      configurations_(configurations_of(options_)),
      serve_(std::move(serve)),
      log_(log.with({kv("secret", options_.ns + "/" + options_.secret)})),
      problem_("the webhook's certificate has not been read yet") {}

void Certificates::refresh(bool leads) {
  const std::scoped_lock lock(refreshing_);
  if (steady_.now() < next_check_ && leads == led_) return;
  led_ = leads;
  record_result(options_.cert_file.empty() ? look(leads) : look_at_files(), leads);
}

/// Serves and trusts the certificates that were read even if writing their successor fails.
base::Status Certificates::look(bool leads) {
  // The trusted next CA of the last check applies to this check only.
  const FoundSecret found = read_secret(leads, std::exchange(trusted_next_, {}));
  const base::Status served = found.set ? serve(found.set->current) : base::Done{};
  // After a write conflict, another replica has written CAs that are newer than ours.
  const bool is_behind = !found.done && found.done.error().code == base::ErrorCode::kConflict;
  const base::Status injected = inject(found.set ? &*found.set : nullptr, leads && !is_behind);
  if (!found.done) return found.done.error().during(fmt::format("Secret {}/{}", options_.ns, options_.secret));
  return served ? injected : served;
}

/// An invalid or mismatched pair does not replace the served one.
base::Status Certificates::look_at_files() {
  auto chain = kube::read_file(options_.cert_file);
  auto key = kube::read_file(options_.key_file);
  base::Status done = base::Done{};
  if (!chain) {
    done = std::move(chain).error().during("webhook.certFile");
  } else if (!key) {
    done = std::move(key).error().during("webhook.keyFile");
  } else {
    const http_server::ServerIdentity identity{"", *std::move(chain), *std::move(key)};
    done = check_files(identity, clock_.now());
    if (done) done = serve(identity);
    if (!done) done = std::move(done).error().during("webhook.certFile and keyFile");
  }
  const base::Status injected = inject(nullptr, false);
  return done ? injected : done;
}

/// Returns the certificates after the due step. A replica that does not lead uses the stored ones.
Certificates::FoundSecret Certificates::read_secret(bool leads, const std::string& trusted_next) {
  const auto body = client_.get(kSecrets, {options_.ns, options_.secret});
  if (!body && !base::is_not_found(body.error())) return {std::nullopt, body.error()};
  Json secret;
  if (body) {
    auto parsed = api::parse_json(*body);
    if (!parsed) return {std::nullopt, parsed.error()};
    secret = *std::move(parsed);
  }
  const auto set = decode_certificates(secret);
  const base::TimePoint now = clock_.now();
  const CertificateSet* known = set ? &*set : nullptr;
  const bool next_is_trusted = !trusted_next.empty() && next_ca(known) == trusted_next;
  const CertificateStep step = next_step(known, options_.rules, next_is_trusted, now);
  const auto usable = step != CertificateStep::kMake ? std::optional(*set) : std::nullopt;
  if (leads && step != CertificateStep::kKeep) {
    auto stored = store(secret, step, known);
    if (!stored) return {usable, stored.error()};
    return {*std::move(stored), base::Done{}};
  }
  if (usable) return {usable, base::Done{}};
  if (!body) return {std::nullopt, base::unavailable("the Secret does not exist; the leader creates it")};
  return {std::nullopt, base::unavailable("the leader must create it again: " +
                                          (set ? why_unusable(*set, options_.rules, now) : set.error().message))};
}

/// An update is guarded by the resourceVersion that was read. If two replicas create the Secret at once, the slower
/// one gets a conflict and reads the other's Secret at its next check.
base::Result<CertificateSet> Certificates::store(const Json& secret, CertificateStep step,
                                                 const CertificateSet* before) {
  auto set = after_step(step, before, options_.rules, clock_.now());
  if (!set) return set;
  const Json next = encode_certificates(secret, options_.ns, options_.secret, *set);
  const auto written = secret.is_object() ? client_.update(kSecrets, {options_.ns, options_.secret}, next)
                                          : client_.create(kSecrets, options_.ns, next);
  if (!written) return written.error().during("writing it");
  log_.info("certificate of the webhook", {kv("step", kStepNames.at(static_cast<std::size_t>(step)))});
  return set;
}

base::Status Certificates::serve(const http_server::ServerIdentity& identity) {
  if (identity == served_) return base::Done{};
  if (auto taken = serve_(identity); !taken) return std::move(taken).error().during("serving it");
  served_ = identity;
  const auto validity = validity_of(identity);
  const std::scoped_lock lock(mutex_);
  validity_ = validity;
  return base::Done{};
}

base::Result<std::optional<Json>> Certificates::read(const Configuration& configuration) {
  const auto body = client_.get(configuration.type, {"", configuration.name});
  if (!body && base::is_not_found(body.error())) return std::optional<Json>();
  if (!body) return body.error().during("reading " + configuration.to_string());
  auto parsed = api::parse_json(*body);
  if (!parsed) return parsed.error();
  return std::optional(*std::move(parsed));
}

/// Updates all configurations and returns the first problem. The next certificate is served once all of them trust it.
base::Status Certificates::inject(const CertificateSet* set, bool may_write) {
  base::Status done = base::Done{};
  bool is_trusted = false;
  bool is_next_trusted = true;
  for (const Configuration& each : configurations_) {
    const Trust trust = inject(each, set, may_write);
    if (each.name == options_.configuration) is_trusted = trust.trusts_current;
    is_next_trusted = is_next_trusted && trust.trusts_next;
    if (done && !trust.done) done = trust.done;
  }
  if (is_next_trusted) trusted_next_ = next_ca(set);
  const std::scoped_lock lock(mutex_);
  is_trusted_ = is_trusted;
  return done;
}

Certificates::Trust Certificates::inject(const Configuration& configuration, const CertificateSet* set,
                                         bool may_write) {
  const auto found = read(configuration);
  if (!found) return {false, false, found.error()};
  if (!*found) {  // a configuration that is not installed does not delay the next certificate
    return {false, true,
            base::Error{base::ErrorCode::kNotFound,
                        fmt::format("{} is not installed: the webhook is not called", configuration.to_string())}};
  }
  const bool serves = !served_.certificate.empty();
  base::Status named = serves ? http_server::check_pair(served_, called_names(**found)) : base::Status(base::Done{});
  const auto patch = set != nullptr ? ca_patch(**found, set->trusted()) : std::nullopt;
  Trust trust{serves && named && trusts(**found, served_.ca), !patch || may_write};
  if (patch && may_write) {
    const auto patched = client_.patch(configuration.type, {"", configuration.name}, kube::PatchType::kJson, *patch);
    if (!patched)
      return {trust.trusts_current, false, patched.error().during("writing caBundle of " + configuration.to_string())};
    log_.info("caBundle written", {kv("configuration", configuration.to_string())});
    trust.trusts_current = serves && named && set->trusted().find(served_.ca) != std::string::npos;
  }
  if (!named) trust.done = std::move(named).error().during(configuration.to_string());
  return trust;
}

void Certificates::record_result(const base::Status& looked, bool leads) {
  next_check_ = steady_.now() + (looked ? kCheckInterval : kRetryInterval);
  const std::string problem = looked ? std::string() : looked.error().message;
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(problem_, problem) == problem) return;
  }
  if (looked) return log_.info("the webhook's certificate is installed");
  if (!leads && looked.error().code == base::ErrorCode::kUnavailable)
    return log_.info("waiting for the webhook's certificate", {kv("problem", problem)});
  log_.warning("the webhook cannot be called", {kv("problem", problem)});
}

bool Certificates::in_force() const {
  const base::TimePoint now = clock_.now();
  const std::scoped_lock lock(mutex_);
  return is_trusted_ && validity_ && is_valid(*validity_, now);
}

std::string Certificates::problem() const {
  const std::scoped_lock lock(mutex_);
  return problem_;
}

}  // namespace controllers::webhooks
