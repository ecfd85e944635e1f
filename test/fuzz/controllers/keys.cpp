/// Any text as the Secret with the signing keys: no crash, decoded keys round-trip, and an error has a reason but
/// reveals no content of the Secret.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "api/json/json_access.hpp"
#include "controllers/evacuation/origin/keys.hpp"

namespace {

/// Length of text that cannot be part of the message by chance.
constexpr std::size_t kMinProgress = 24;

void require(bool holds) {
  if (!holds) std::abort();
}

bool tells(const std::string& message, const api::Json& secret, std::string_view name) {
  const std::string text = api::text_at(secret, {"data", name});
  return text.size() >= kMinProgress && message.find(text) != std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto secret = api::parse_json({reinterpret_cast<const char*>(data), size});
  if (!secret) return 0;
  const auto content = controllers::decode_signing_secret(*secret);
  if (!content) {
    const std::string& message = content.error().message;
    require(!message.empty() && !tells(message, *secret, "current") && !tells(message, *secret, "previous"));
    return 0;
  }
  const controllers::SecretKeyOptions options{.ns = "evacuator-system"};
  const auto back = controllers::decode_signing_secret(controllers::encode_signing_secret(*secret, options, *content));
  require(back && back->keys == content->keys);
  if (!content->rotated_at) return 0;
  const auto seconds = std::chrono::floor<base::seconds>(*content->rotated_at);
  require(back->rotated_at && std::chrono::floor<base::seconds>(*back->rotated_at) == seconds);
  return 0;
}
