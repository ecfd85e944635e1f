#include "controllers/evacuation/origin/keys.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/base64.hpp"
#include "base/time/stored_time.hpp"

namespace controllers {
namespace {

using api::Json;
using base::kv;

constexpr kube::ResourceType kSecrets{"", "v1", "secrets", "Secret"};
constexpr std::string_view kCurrent = "current";
constexpr std::string_view kPrevious = "previous";

/// Decodes data.<name> of a Secret. Returns nullopt if it is missing.
base::Result<std::optional<crypto::Key>> decode_key(const Json& secret, std::string_view name) {
  const Json* text = api::find_at(secret, {"data", name});
  if (text == nullptr) return std::optional<crypto::Key>();
  const auto bytes = text->is_string() ? base::decode_base64(text->get<std::string>()) : std::nullopt;
  if (!bytes) return base::invalid(fmt::format("data.{} is not valid Base64", name));
  auto key = crypto::Key::from_bytes(*bytes);
  if (!key) return key.error().during(fmt::format("data.{}", name));
  return std::optional(*std::move(key));
}

/// Returns member `name` of `parent` as an object, creating it if necessary.
Json& object_at(Json& parent, const char* name) {
  Json& member = parent[name];
  if (!member.is_object()) member = Json::object();
  return member;
}

class KeysInMemory final : public KeySource {
 public:
  KeysInMemory() {
    if (auto key = crypto::Key::random()) keys_ = std::make_shared<const crypto::KeyRing>(crypto::KeyRing{*key});
  }
  void refresh(bool) override {}
  std::shared_ptr<const crypto::KeyRing> keys() const override { return keys_; }
  std::string problem() const override { return keys_ ? "" : "cannot generate random bytes for a signing key"; }

 private:
  std::shared_ptr<const crypto::KeyRing> keys_;
};

}  // namespace

KeySource& process_keys() {
  static KeysInMemory keys;
  return keys;
}

base::Result<SecretContent> decode_signing_secret(const Json& secret) {
  auto current = decode_key(secret, kCurrent);
  if (!current) return current.error();
  if (!*current) return base::invalid("data.current is missing");
  auto previous = decode_key(secret, kPrevious);
  if (!previous) return previous.error();
  const std::string rotated_at = api::text_at(secret, {"metadata", "annotations", kRotatedAtAnnotation});
  return SecretContent{{**std::move(current), *std::move(previous)}, base::parse_time(rotated_at)};
}

Json encode_signing_secret(Json secret, const SecretKeyOptions& options, const SecretContent& content) {
  if (!secret.is_object()) secret = {{"type", "Opaque"}};
  secret["apiVersion"] = kSecrets.api_version();
  secret["kind"] = kSecrets.kind;
  Json& metadata = object_at(secret, "metadata");
  metadata["namespace"] = options.ns;
  metadata["name"] = options.name;
  object_at(metadata, "labels")["app.kubernetes.io/name"] = "evacuator";
  if (content.rotated_at) {
    object_at(metadata, "annotations")[std::string(kRotatedAtAnnotation)] = base::format_time(*content.rotated_at);
  }
  Json& data = object_at(secret, "data");
  data[std::string(kCurrent)] = base::encode_base64(content.keys.current.bytes());
  data.erase(std::string(kPrevious));
  if (content.keys.previous) data[std::string(kPrevious)] = base::encode_base64(content.keys.previous->bytes());
  return secret;
}

SecretKeys::SecretKeys(kube::Client& client, const base::Clock& clock, SecretKeyOptions options, base::Log log,
                       const base::Clock* steady)
    : client_(client),
      clock_(clock),
      steady_(steady ? *steady : clock),
      options_(std::move(options)),
      log_(log.with({kv("secret", where())})),
      problem_(fmt::format("Secret {} has not been read yet", where())) {}

void SecretKeys::refresh(bool leads) {
  const std::scoped_lock lock(refreshing_);
  if (steady_.now() < next_check_ && leads == led_) return;
  led_ = leads;
  conclude(look(leads), leads);
}

base::Status SecretKeys::look(bool leads) {
  const auto body = client_.get(kSecrets, {options_.ns, options_.name});
  if (!body && base::is_not_found(body.error()))
    return leads ? make() : base::Status(base::unavailable("the Secret does not exist; the leader creates it"));
  if (!body) return body.error();
  const auto secret = api::parse_json(*body);
  if (!secret) return secret.error();
  const auto content = decode_signing_secret(*secret);
  if (!content) {
    return content.error().during("delete the Secret, and the leader creates a new one; or restore the correct keys");
  }
  const base::TimePoint now = clock_.now();
  const auto& rotated = content->rotated_at;
  const bool is_old = !rotated || base::is_in_future(*rotated, now) || now - *rotated >= options_.rotate_after;
  const bool due = options_.rotate_after > base::Duration::zero() && is_old;
  return leads && due ? rotate(*secret, *content) : take(*content);
}

/// Another replica may create the Secret first; the next refresh then reads its keys. If the Secret was deleted,
/// signatures of the known key stay valid.
base::Status SecretKeys::make() {
  const auto key = crypto::Key::random();
  if (!key) return key.error();
  const auto known = keys();
  const SecretContent content{{*key, known ? std::optional(known->current) : std::nullopt}, clock_.now()};
  const auto made = client_.create(kSecrets, options_.ns, encode_signing_secret(nullptr, options_, content));
  if (!made) return made.error().during("making it");
  log_.info("created a signing key", {kv("key", key->id())});
  return take(content);
}

/// The update is guarded by the resourceVersion that was read.
base::Status SecretKeys::rotate(const Json& secret, const SecretContent& old) {
  const auto key = crypto::Key::random();
  if (!key) return key.error();
  const SecretContent next{{*key, old.keys.current}, clock_.now()};
  const auto written =
      client_.update(kSecrets, {options_.ns, options_.name}, encode_signing_secret(secret, options_, next));
  if (!written) {
    (void)take(old);
    return written.error().during("rotating the key in it");
  }
  log_.info("rotated the signing key", {kv("key", key->id()), kv("previous", old.keys.current.id())});
  return take(next);
}

base::Status SecretKeys::take(const SecretContent& content) {
  const std::scoped_lock lock(mutex_);
  if (!keys_ || *keys_ != content.keys) keys_ = std::make_shared<const crypto::KeyRing>(content.keys);
  return base::Done{};
}

void SecretKeys::conclude(const base::Status& looked, bool leads) {
  next_check_ = steady_.now() + (looked ? kLookEvery : kRetryEvery);
  const std::string problem =
      looked ? std::string() : fmt::format("signing keys in Secret {}: {}", where(), looked.error().message);
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(problem_, problem) == problem) return;
  }
  if (looked) return log_.info("read the signing keys", {kv("key", keys()->current.id())});
  if (!leads && looked.error().code == base::ErrorCode::kUnavailable) return log_.info("waiting for signing keys");
  if (keys()) return log_.warning("cannot reload the signing keys, keeping the known keys", {kv("problem", problem)});
  log_.error("there are no signing keys: policies do not evacuate pods", {kv("problem", problem)});
}

std::shared_ptr<const crypto::KeyRing> SecretKeys::keys() const {
  const std::scoped_lock lock(mutex_);
  return keys_;
}

std::string SecretKeys::problem() const {
  const std::scoped_lock lock(mutex_);
  return problem_;
}

}  // namespace controllers
