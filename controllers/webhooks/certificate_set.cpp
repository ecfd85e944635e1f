#include "controllers/webhooks/certificate_set.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/base64.hpp"

namespace controllers::webhooks {
namespace {

using api::Json;
using http_server::ServerIdentity;

constexpr std::size_t kMaxPem = 64 * 1024;
constexpr const char* kCommonName = "evacuator-webhook";

/// Returns data.<name>, or an empty string if absent.
base::Result<std::string> text_of(const Json& secret, std::string_view name) {
  const Json* text = api::find_at(secret, {"data", name});
  if (text == nullptr || text->is_null()) return std::string();
  auto bytes = text->is_string() ? base::decode_base64(text->get_ref<const std::string&>()) : std::nullopt;
  if (!bytes) return base::invalid(fmt::format("data[{}] is not valid Base64", name));
  if (bytes->size() > kMaxPem) return base::invalid(fmt::format("data[{}] is too long", name));
  return *std::move(bytes);
}

struct EntryNames {
  const char* ca;
  const char* certificate;
  const char* key;
};
constexpr EntryNames kCurrent{"ca.crt", "tls.crt", "tls.key"};
constexpr EntryNames kNext{"next-ca.crt", "next.crt", "next.key"};
constexpr const char* kPreviousCa = "previous-ca.crt";

base::Result<ServerIdentity> identity_of(const Json& secret, const EntryNames& names) {
  ServerIdentity identity;
  for (const auto& [name, target] :
       {std::pair(names.ca, &identity.ca), std::pair(names.certificate, &identity.certificate),
        std::pair(names.key, &identity.key)}) {
    auto text = text_of(secret, name);
    if (!text) return text.error();
    *target = *std::move(text);
  }
  return identity;
}

void put(Json& data, const char* name, const std::string& text) {
  if (text.empty())
    data.erase(name);
  else
    data[name] = base::encode_base64(text);
}

void put(Json& data, const EntryNames& names, const ServerIdentity& identity) {
  put(data, names.ca, identity.ca);
  put(data, names.certificate, identity.certificate);
  put(data, names.key, identity.key);
}

Json& object_at(Json& parent, const char* name) {
  Json& member = parent[name];
  if (!member.is_object()) member = Json::object();
  return member;
}

/// REQUIRES: why_unusable() returned an empty string.
base::Duration age_of(const ServerIdentity& identity, base::TimePoint now) {
  const auto validity = http_server::validity_of(identity.certificate);
  return validity ? now - (validity->not_before + http_server::kBackdated) : base::Duration::max();
}

std::string problem_of(const ServerIdentity& identity, const CertificateRules& rules, base::TimePoint now) {
  if (const auto checked = http_server::check_identity(identity, rules.names); !checked) return checked.error().message;
  for (const std::string& pem : {identity.certificate, identity.ca}) {
    const auto validity = http_server::validity_of(pem);
    if (!validity) return validity.error().message;
    if (now < validity->not_before) return "it is not valid before " + base::format_time(validity->not_before);
    if (now >= validity->not_after) return "it has expired at " + base::format_time(validity->not_after);
  }
  return {};
}

bool has_expired(const std::string& ca, base::TimePoint now) {
  const auto validity = http_server::validity_of(ca);
  return !validity || now >= validity->not_after;
}

}  // namespace

std::string CertificateSet::trusted() const {
  std::string all = current.ca;
  if (next) all += next->ca;
  return all + previous_ca;
}

base::Result<CertificateSet> decode_certificates(const Json& secret) {
  auto current = identity_of(secret, kCurrent);
  if (!current) return current.error();
  auto next = identity_of(secret, kNext);
  if (!next) return next.error();
  auto previous = text_of(secret, kPreviousCa);
  if (!previous) return previous.error();
  CertificateSet set{*std::move(current), std::nullopt, *std::move(previous)};
  if (*next != ServerIdentity{}) set.next = *std::move(next);
  return set;
}

Json encode_certificates(Json secret, const std::string& ns, const std::string& name, const CertificateSet& set) {
  if (!secret.is_object()) secret = {{"type", "kubernetes.io/tls"}};
  secret["apiVersion"] = "v1";
  secret["kind"] = "Secret";
  Json& metadata = object_at(secret, "metadata");
  metadata["namespace"] = ns;
  metadata["name"] = name;
  object_at(metadata, "labels")["app.kubernetes.io/name"] = "evacuator";
  Json& data = object_at(secret, "data");
  put(data, kCurrent, set.current);
  put(data, kNext, set.next.value_or(ServerIdentity{}));
  put(data, kPreviousCa, set.previous_ca);
  return secret;
}

std::string why_unusable(const CertificateSet& set, const CertificateRules& rules, base::TimePoint now) {
  return problem_of(set.current, rules, now);
}

CertificateStep next_step(const CertificateSet* set, const CertificateRules& rules, bool next_is_trusted,
                          base::TimePoint now) {
  if (set == nullptr || !why_unusable(*set, rules, now).empty()) return CertificateStep::kMake;
  const bool next_is_sound = set->next && problem_of(*set->next, rules, now).empty();
  if (set->next && !next_is_sound) return CertificateStep::kStage;
  if (next_is_sound) {
    const bool is_due = next_is_trusted && age_of(*set->next, now) >= kOverlap;
    return is_due ? CertificateStep::kPromote : CertificateStep::kKeep;
  }
  return age_of(set->current, now) >= rules.rotate_after ? CertificateStep::kStage : CertificateStep::kKeep;
}

base::Result<CertificateSet> after_step(CertificateStep step, const CertificateSet* set, const CertificateRules& rules,
                                        base::TimePoint now) {
  if (step == CertificateStep::kKeep) return *set;
  if (step == CertificateStep::kPromote) return CertificateSet{*set->next, std::nullopt, set->current.ca};
  auto made = http_server::make_server_identity(rules.names, now, kCommonName, rules.valid_for);
  if (!made) return made.error();
  if (step == CertificateStep::kMake) {
    const bool known = set != nullptr && !has_expired(set->current.ca, now);
    return CertificateSet{*std::move(made), std::nullopt, known ? set->current.ca : std::string()};
  }
  CertificateSet staged = *set;
  staged.next = *std::move(made);
  if (has_expired(staged.previous_ca, now)) staged.previous_ca.clear();
  return staged;
}

}  // namespace controllers::webhooks
