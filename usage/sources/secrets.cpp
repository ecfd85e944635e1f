#include "usage/sources/secrets.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/json/json_access.hpp"
#include "base/base64.hpp"
#include "kube/config/credentials.hpp"

namespace usage {
namespace {

constexpr kube::ResourceType kSecrets{"", "v1", "secrets", "Secret"};
constexpr std::size_t kLargestSecret = std::size_t{2} << 20;  // the API allows 1 MiB of data

std::string where(const std::string& ns, const std::string& name) { return fmt::format("Secret {}/{}", ns, name); }

/// Reads each Secret at most once.
class SecretReader {
 public:
  SecretReader(kube::Client& client, const std::string& ns) : client_(client), ns_(ns) {}

  /// The value of a key, decoded.
  base::Result<std::string> value(const api::SecretKey& wanted) {
    auto secret = secrets_.find(wanted.name);
    if (secret == secrets_.end()) {
      auto read = fetch(wanted.name);
      if (!read) return std::move(read).error();
      secret = secrets_.emplace(wanted.name, *std::move(read)).first;
    }
    const api::Json* text = api::find_at(secret->second, {"data", wanted.key});
    if (text == nullptr || !text->is_string())
      return base::invalid(fmt::format("{} has no key \"{}\"", where(ns_, wanted.name), wanted.key));
    auto decoded = base::decode_base64(text->get_ref<const std::string&>());
    if (!decoded || decoded->empty())
      return base::invalid(fmt::format("{}: key \"{}\" is empty or no base64", where(ns_, wanted.name), wanted.key));
    return *std::move(decoded);
  }

 private:
  base::Result<api::Json> fetch(const std::string& name) {
    const auto body = client_.get(kSecrets, {ns_, name});
    if (!body && body.error().code == base::ErrorCode::kForbidden)
      return base::Error{base::ErrorCode::kForbidden,
                         fmt::format("reading {}: {} (config/optional/usage-secrets.yaml gives the right, by name)",
                                     where(ns_, name), body.error().message)};
    if (!body) return body.error().during("reading " + where(ns_, name));
    if (body->size() > kLargestSecret) return base::invalid(where(ns_, name) + " is too large");
    api::Json secret = api::Json::parse(*body, nullptr, false);
    if (!secret.is_object()) return base::unavailable(where(ns_, name) + ": the answer is no JSON object");
    const api::Json* label = api::find_at(secret, {"metadata", "labels", std::string(kCredentialsLabel)});
    if (label == nullptr || *label != "true")
      return base::invalid(fmt::format("{} does not have the label {}=true: it is not meant for usage sources",
                                       where(ns_, name), kCredentialsLabel));
    return secret;
  }

  kube::Client& client_;
  const std::string& ns_;
  std::map<std::string, api::Json> secrets_;
};

/// People end files with a line break.
std::string_view without_line_end(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

base::Result<std::string> authorization_of(SecretReader& reader, const api::UsageEndpoint& endpoint) {
  if (endpoint.bearer_token) {
    const auto token = reader.value(*endpoint.bearer_token);
    if (!token) return token.error();
    auto header = kube::bearer(without_line_end(*token));
    if (!header) return std::move(header).error().during("Secret " + endpoint.bearer_token->name);
    return header;
  }
  if (!endpoint.basic_username || !endpoint.basic_password) return std::string();
  const auto user = reader.value(*endpoint.basic_username);
  if (!user) return user.error();
  const auto password = reader.value(*endpoint.basic_password);
  if (!password) return password.error();
  if (user->find(':') != std::string::npos)
    return base::invalid(
        fmt::format("Secret {}: a user name with a colon cannot be sent", endpoint.basic_username->name));
  return "Basic " + base::encode_base64(fmt::format("{}:{}", without_line_end(*user), without_line_end(*password)));
}

base::Status fill(SecretReader& reader, const std::optional<api::SecretKey>& from, std::string& target) {
  if (!from) return base::Done{};
  auto value = reader.value(*from);
  if (!value) return std::move(value).error();
  target = *std::move(value);
  return base::Done{};
}

}  // namespace

base::Result<EndpointSecrets> read_endpoint_secrets(kube::Client& client, const std::string& ns,
                                                    const api::UsageEndpoint& endpoint) {
  SecretReader reader(client, ns);
  EndpointSecrets secrets;
  auto authorization = authorization_of(reader, endpoint);
  if (!authorization) return std::move(authorization).error();
  secrets.authorization = *std::move(authorization);
  if (auto read = fill(reader, endpoint.ca, secrets.ca_pem); !read) return std::move(read).error();
  if (auto read = fill(reader, endpoint.certificate, secrets.certificate_pem); !read) return std::move(read).error();
  if (auto read = fill(reader, endpoint.certificate_key, secrets.key_pem); !read) return std::move(read).error();
  return secrets;
}

}  // namespace usage
