#include "api/core/protobuf/envelope.hpp"

#include <nlohmann/json.hpp>

#include "api/core/protobuf/cursor.hpp"
#include "api/json/json.hpp"
#include "base/text.hpp"

namespace api::protobuf {
namespace {

constexpr std::size_t kMaxKind = 256;
constexpr std::size_t kMaxText = 1 << 20;

base::Error malformed(const char* what) {
  return base::invalid(std::string("decoding protobuf: ") + what + " is cut off or malformed");
}

bool read_type(std::string_view bytes, Envelope& envelope) {
  return for_each_field(bytes, [&](const Cursor& field) {
    if (field.number() == 1) envelope.api_version = base::truncate_utf8(field.bytes(), kMaxKind);
    if (field.number() == 2) envelope.kind = base::truncate_utf8(field.bytes(), kMaxKind);
  });
}

std::string text_of(const Cursor& cursor) { return base::truncate_utf8(cursor.bytes(), kMaxText); }

Json causes_entry(std::string_view bytes) {
  Json cause = Json::object();
  for_each_field(bytes, [&](const Cursor& field) {
    if (field.number() == 1) cause["reason"] = text_of(field);
    if (field.number() == 2) cause["message"] = text_of(field);
  });
  return cause;
}

Json details_of(std::string_view bytes) {
  Json details = Json::object();
  for_each_field(bytes, [&](const Cursor& field) {
    if (field.number() == 1) details["name"] = text_of(field);
    if (field.number() == 4) details["causes"].push_back(causes_entry(field.bytes()));
    if (field.number() == 5) details["retryAfterSeconds"] = static_cast<std::int64_t>(field.varint());
  });
  return details;
}

}  // namespace

base::Result<Envelope> open(std::string_view bytes) {
  if (!is_envelope(bytes)) return base::invalid("decoding protobuf: it does not begin as Kubernetes' protobuf does");
  Envelope envelope;
  Cursor cursor(bytes.substr(kMagic.size()));
  while (cursor.next()) {
    if (cursor.number() == 1 && !read_type(cursor.bytes(), envelope)) return malformed("the type");
    if (cursor.number() == 2) envelope.body = cursor.bytes();
    if (cursor.number() == 3 && !cursor.bytes().empty())
      return base::invalid("decoding protobuf: the body is encoded once more");
  }
  if (cursor.failed()) return malformed("the envelope");
  return envelope;
}

std::string seal(std::string_view api_version, std::string_view kind, std::string_view body) {
  std::string type;
  if (!api_version.empty()) put_bytes(type, 1, api_version);
  if (!kind.empty()) put_bytes(type, 2, kind);
  std::string sealed;
  sealed.reserve(kMagic.size() + type.size() + body.size() + 16);
  sealed += kMagic;
  if (!type.empty()) put_bytes(sealed, 1, type);
  put_bytes(sealed, 2, body);
  return sealed;
}

base::Result<std::string> status_json(std::string_view envelope) {
  const auto opened = open(envelope);
  if (!opened) return opened.error();
  if (opened->kind != "Status") return base::invalid("decoding protobuf: it is not a Status");
  Json status = {{"kind", "Status"}};
  const bool is_whole = for_each_field(opened->body, [&](const Cursor& field) {
    if (field.number() == 3) status["message"] = text_of(field);
    if (field.number() == 4) status["reason"] = text_of(field);
    if (field.number() == 5) status["details"] = details_of(field.bytes());
    if (field.number() == 6) status["code"] = static_cast<std::int64_t>(field.varint());
  });
  if (!is_whole) return malformed("the Status");
  return to_json_text(status);
}

}  // namespace api::protobuf
