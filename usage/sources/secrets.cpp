#include "usage/sources/secrets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "api/json/json_access.hpp"
#include "base/base64.hpp"
#include "base/text.hpp"
#include "kube/config/credential_scope.hpp"
#include "kube/config/credentials.hpp"

namespace usage {
namespace {

constexpr kube::ResourceType kSecrets{"", "v1", "secrets", "Secret"};
constexpr std::string_view kRedacted = "[redacted]";
constexpr std::string_view kEllipsis = "…";
/// Minimum length of a redacted part at the end of a text. Shorter matches are coincidences.
constexpr std::size_t kMinPart = 4;
constexpr std::size_t kMaxSecret = std::size_t{2} << 20;  // the API allows 1 MiB of data

std::string where(const std::string& ns, const std::string& name) { return fmt::format("Secret {}/{}", ns, name); }

/// Returns the decoded value of a key, nullopt if there is no such key.
base::Result<std::optional<std::string>> decoded(const api::Json& secret, const std::string& key,
                                                 const std::string& holder) {
  const api::Json* text = api::find_at(secret, {"data", key});
  if (text == nullptr || !text->is_string()) return std::optional<std::string>();
  auto value = base::decode_base64(text->get_ref<const std::string&>());
  if (!value || value->empty())
    return base::invalid(fmt::format("{}: key \"{}\" is empty or not valid Base64", holder, key));
  return std::optional(*std::move(value));
}

/// Reads each Secret at most once.
class SecretReader {
 public:
  SecretReader(kube::Client& client, const std::string& ns, const api::UsageEndpoint& endpoint)
      : client_(client), ns_(ns), target_{endpoint.url, endpoint.server_name, !endpoint.insecure_skip_verify} {}

  /// Returns the value of a key.
  base::Result<std::string> value(const api::SecretKey& wanted) {
    const auto secret = find(wanted.name);
    if (!secret) return secret.error();
    auto text = decoded(**secret, wanted.key, where(ns_, wanted.name));
    if (!text) return std::move(text).error();
    if (!*text) return base::invalid(fmt::format("{} has no key \"{}\"", where(ns_, wanted.name), wanted.key));
    return **std::move(text);
  }

  /// Returns the value of a key that is sent to the endpoint's server or that authenticates the client.
  base::Result<std::string> credential(const api::SecretKey& wanted) {
    const auto secret = find(wanted.name);
    if (!secret) return secret.error();
    const auto servers = decoded(**secret, std::string(kube::kServersKey), where(ns_, wanted.name));
    if (!servers) return servers.error();
    if (auto allowed = kube::may_send_credentials(*servers, target_, where(ns_, wanted.name)); !allowed)
      return std::move(allowed).error();
    return value(wanted);
  }

 private:
  base::Result<const api::Json*> find(const std::string& name) {
    auto secret = secrets_.find(name);
    if (secret == secrets_.end()) {
      auto read = fetch(name);
      if (!read) return std::move(read).error();
      secret = secrets_.emplace(name, *std::move(read)).first;
    }
    return &secret->second;
  }

  base::Result<api::Json> fetch(const std::string& name) {
    const auto body = client_.get(kSecrets, {ns_, name});
    if (!body && body.error().code == base::ErrorCode::kForbidden)
      return base::Error{
          base::ErrorCode::kForbidden,
          fmt::format("reading {}: {} (config/optional/usage-secrets.yaml grants the permission, by name)",
                      where(ns_, name), body.error().message)};
    if (!body) return body.error().during("reading " + where(ns_, name));
    if (body->size() > kMaxSecret) return base::invalid(where(ns_, name) + " is too large");
    api::Json secret = api::Json::parse(*body, nullptr, false);
    if (!secret.is_object()) return base::unavailable(where(ns_, name) + ": the response is not a JSON object");
    const api::Json* label = api::find_at(secret, {"metadata", "labels", std::string(kCredentialsLabel)});
    if (label == nullptr || *label != "true")
      return base::invalid(fmt::format("{} does not have the label {}=true: it is not intended for usage sources",
                                       where(ns_, name), kCredentialsLabel));
    return secret;
  }

  kube::Client& client_;
  const std::string& ns_;
  const kube::CredentialTarget target_;
  std::map<std::string, api::Json> secrets_;
};

bool is_control(char each) { return static_cast<unsigned char>(each) < 0x20 || each == 0x7f; }

/// Files often end with a line break.
std::string_view without_line_end(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// Adds the secret and its displayed forms: without invalid UTF-8, and without control characters.
void add_sent(std::vector<std::string>& sent, std::string_view secret) {
  if (secret.empty()) return;
  std::string shown = base::truncate_utf8(secret, std::string::npos);
  for (const bool in_one_line : {false, true}) {
    if (in_one_line) std::ranges::replace_if(shown, is_control, ' ');
    if (std::ranges::find(sent, shown) == sent.end()) sent.push_back(shown);
  }
  if (std::ranges::find(sent, secret) == sent.end()) sent.emplace_back(secret);
}

/// Returns the number of bytes at the end of the text that are the beginning of the secret.
std::size_t part_at_end(std::string_view text, std::string_view secret) {
  for (std::size_t part = std::min(text.size(), secret.size()); part >= kMinPart; --part) {
    if (secret.starts_with(text.substr(text.size() - part))) return part;
  }
  return 0;
}

/// Redacts the beginning of a secret in a text truncated within it.
void redact_parts(std::string& text, std::string_view secret) {
  for (std::size_t from = 0;;) {
    std::size_t end = std::min(text.find(kEllipsis, from), text.size());
    if (const auto part = part_at_end(std::string_view(text).substr(from, end - from), secret); part > 0) {
      text.replace(end - part, part, kRedacted);
      end += kRedacted.size() - part;
    }
    if (end >= text.size()) return;
    from = end + kEllipsis.size();
  }
}

void redact(std::string& text, std::string_view secret) {
  for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + kRedacted.size()))
    text.replace(at, secret.size(), kRedacted);
  redact_parts(text, secret);
}

base::Result<std::string> authorization_of(SecretReader& reader, const api::UsageEndpoint& endpoint,
                                           std::vector<std::string>& sent) {
  if (endpoint.bearer_token) {
    const auto token = reader.credential(*endpoint.bearer_token);
    if (!token) return token.error();
    add_sent(sent, without_line_end(*token));
    auto header = kube::bearer(without_line_end(*token));
    if (!header) return std::move(header).error().during("Secret " + endpoint.bearer_token->name);
    return header;
  }
  if (!endpoint.basic_username || !endpoint.basic_password) return std::string();
  const auto user = reader.credential(*endpoint.basic_username);
  if (!user) return user.error();
  const auto password = reader.credential(*endpoint.basic_password);
  if (!password) return password.error();
  if (user->find(':') != std::string::npos)
    return base::invalid(
        fmt::format("Secret {}: a user name with a colon cannot be sent", endpoint.basic_username->name));
  const std::string both = fmt::format("{}:{}", without_line_end(*user), without_line_end(*password));
  std::string encoded = base::encode_base64(both);
  add_sent(sent, without_line_end(*password));
  add_sent(sent, encoded);
  return "Basic " + std::move(encoded);
}

using Read = base::Result<std::string> (SecretReader::*)(const api::SecretKey&);

base::Status fill(SecretReader& reader, Read read, const std::optional<api::SecretKey>& from, std::string& target) {
  if (!from) return base::Done{};
  auto value = (reader.*read)(*from);
  if (!value) return std::move(value).error();
  target = *std::move(value);
  return base::Done{};
}

}  // namespace

std::string redacted(std::string text, const EndpointSecrets& secrets) {
  for (const std::string& secret : secrets.sent) redact(text, secret);
  return text;
}

base::Result<EndpointSecrets> read_endpoint_secrets(kube::Client& client, const std::string& ns,
                                                    const api::UsageEndpoint& endpoint) {
  SecretReader reader(client, ns, endpoint);
  EndpointSecrets secrets;
  auto authorization = authorization_of(reader, endpoint, secrets.sent);
  if (!authorization) return std::move(authorization).error();
  secrets.authorization = *std::move(authorization);
  std::ranges::stable_sort(secrets.sent, std::ranges::greater{}, &std::string::size);
  for (const auto& [read, from, target] :
       {std::tuple(&SecretReader::value, &endpoint.ca, &secrets.ca_pem),
        std::tuple(&SecretReader::credential, &endpoint.certificate, &secrets.certificate_pem),
        std::tuple(&SecretReader::credential, &endpoint.certificate_key, &secrets.key_pem)}) {
    if (auto filled = fill(reader, read, *from, *target); !filled) return std::move(filled).error();
  }
  return secrets;
}

}  // namespace usage
