#include <fmt/format.h>

#include "api/json/json_access.hpp"
#include "simulator/api/core.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

/// Position in a paged list. Opaque to clients; hex, so that it needs no escaping.
struct ContinueToken {
  std::uint64_t revision = 0;
  api::ObjectKey after;
};

std::string encode_token(const ContinueToken& token) {
  const Json json = {{"rv", token.revision}, {"ns", token.after.ns}, {"name", token.after.name}};
  std::string text;
  for (const unsigned char c : json.dump()) text += fmt::format("{:02x}", c);
  return text;
}

std::optional<ContinueToken> decode_token(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); i += 2) escaped += fmt::format("%{}", text.substr(i, 2));
  const Json json = Json::parse(percent_decode(escaped, false), nullptr, false);
  const auto revision = api::number_at(json, {"rv"});
  if (!revision || *revision < 0) return std::nullopt;
  return ContinueToken{static_cast<std::uint64_t>(*revision),
                       {api::text_at(json, {"ns"}), api::text_at(json, {"name"})}};
}

Failure expired_token() {
  return expired(
      "The provided continue parameter is too old to display a consistent list result. You can start a new list "
      "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
      "results.");
}

Outcome<Listing> take_listing(ApiCore& core, const Call& call, std::optional<ContinueToken>& token) {
  std::optional<std::uint64_t> revision;
  if (const std::string text = call.info.query.value("continue"); !text.empty()) {
    token = decode_token(text);
    if (!token) return bad_request("continue key is not valid: encoding is not understood");
    revision = token->revision;
  } else {
    auto wanted = wanted_revision(core, call);
    if (!wanted) return std::move(wanted.failure());
    revision = *wanted;
  }
  if (call.stale_by && !revision) {
    const std::uint64_t now = core.store.revision();
    revision = now > *call.stale_by ? now - *call.stale_by : 1;
  }
  auto listing = core.store.list_at(call.resource->storage, call.info.ns, revision);
  if (!listing && call.stale_by) listing = core.store.list_at(call.resource->storage, call.info.ns);
  if (!listing) return token ? expired_token() : expired(listing.error().message);
  return *std::move(listing);
}

ListPage cut_page(const Listing& listing, const Selection& selection, const std::optional<ContinueToken>& token,
                  std::int64_t limit) {
  ListPage page;
  page.revision = listing.revision;
  api::ObjectKey last;
  for (std::size_t i = 0; i < listing.items.size(); ++i) {
    const Json& object = *listing.items[i];
    if (token && key_of(object) <= token->after) continue;
    if (!selection.matches(object)) continue;
    if (limit > 0 && static_cast<std::int64_t>(page.items.size()) == limit) {
      page.continue_token = encode_token({listing.revision, last});
      if (selection.everything()) page.remaining = static_cast<std::int64_t>(listing.items.size() - i);
      break;
    }
    last = key_of(object);
    page.items.push_back(listing.items[i]);
  }
  return page;
}

}  // namespace

Outcome<std::optional<std::uint64_t>> wanted_revision(ApiCore& core, const Call& call) {
  const std::string text = call.info.query.value("resourceVersion");
  const std::string match = call.info.query.value("resourceVersionMatch");
  if (text.empty() || text == "0") return std::optional<std::uint64_t>();
  const auto number = call.info.query.number("resourceVersion");
  if (!number || *number < 0)
    return bad_request(
        fmt::format("Invalid value: \"{}\": strconv.ParseUint: parsing \"{}\": invalid syntax", text, text));
  const auto revision = static_cast<std::uint64_t>(*number);
  const std::uint64_t now = core.store.revision();
  if (revision > now) {
    return Failure{
        504, "Timeout", fmt::format("Timeout: Too large resource version: {}, current: {}", revision, now),
        Json{{"causes",
              Json::array({{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}})},
             {"retryAfterSeconds", 1}}};
  }
  if (match == "Exact") return std::optional<std::uint64_t>(revision);
  return std::optional<std::uint64_t>();  // "NotOlderThan" is satisfied by the current revision
}

kube::Response get_object(ApiCore& core, const Call& call) {
  const Object found = core.store.get(call.resource->storage, call.key());
  if (!found) return to_response(not_found(call.resource->group, call.resource->plural, call.info.name));
  return {200, core.texts.encode(call.resource, found, call.output), {}, "application/json"};
}

Outcome<Selection> selection_of(const Call& call) {
  return Selection::parse(*call.resource, call.info.query.value("labelSelector"),
                          call.info.query.value("fieldSelector"));
}

kube::Response list_objects(ApiCore& core, const Call& call) {
  auto selection = selection_of(call);
  if (!selection) return to_response(selection.failure());
  const std::string limit_text = call.info.query.value("limit");
  const auto limit = call.info.query.number("limit");
  if (!limit_text.empty() && (!limit || *limit < 0))
    return to_response(bad_request("limit: must be a non-negative integer, got " + limit_text));
  std::optional<ContinueToken> token;
  auto listing = take_listing(core, call, token);
  if (!listing) return to_response(listing.failure());
  const ListPage page = cut_page(*listing, *selection, token, limit.value_or(0));
  return {200, encode_list(*call.resource, page, call.output), {}, "application/json"};
}

Outcome<std::vector<Object>> select_objects(ApiCore& core, const Call& call) {
  auto selection = selection_of(call);
  if (!selection) return std::move(selection.failure());
  std::vector<Object> found = core.store.list(call.resource->storage, call.info.ns);
  std::erase_if(found, [&](const Object& object) { return !selection->matches(*object); });
  return found;
}

}  // namespace simulator
