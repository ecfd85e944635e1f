#include "api/core/protobuf/list_splitter.hpp"

#include "api/core/protobuf/cursor.hpp"
#include "api/core/protobuf/envelope.hpp"

namespace api::protobuf {
namespace {

constexpr std::string_view kListSuffix = "List";
constexpr std::uint32_t kMetadata = 1;  // field number in every List
constexpr std::uint32_t kItems = 2;

base::Error malformed_list(const char* why) {
  return base::invalid(std::string("decoding a list in protobuf: ") + why);
}

/// Tag and length of a length-delimited field.
struct Head {
  std::uint32_t number = 0;
  std::uint64_t length = 0;
};

/// Returns kIncomplete if the bytes end within the head. Advances `rest` past the head only on kYes.
Taken take_head(std::string_view& rest, Head& head) {
  std::string_view at = rest;
  std::uint64_t tag = 0;
  if (const Taken taken = take_varint(at, tag); taken != Taken::kYes) return taken;
  if ((tag & 7U) != static_cast<std::uint64_t>(WireType::kLengthDelimited)) return Taken::kMalformed;
  if (const Taken taken = take_varint(at, head.length); taken != Taken::kYes) return taken;
  head.number = static_cast<std::uint32_t>(tag >> 3U);
  rest = at;
  return Taken::kYes;
}

}  // namespace

base::Status ListSplitter::feed(std::string_view bytes, std::vector<std::string>& envelopes) {
  pending_.append(bytes);
  std::string_view rest = pending_;
  for (;;) {
    const auto stepped = step(rest, envelopes);
    if (!stepped) return stepped.error();
    if (*stepped == Step::kWait) break;
  }
  pending_.erase(0, pending_.size() - rest.size());
  return base::Done{};
}

base::Result<ListSplitter::Step> ListSplitter::step(std::string_view& rest, std::vector<std::string>& envelopes) {
  switch (state_) {
    case State::kPrefix:
      if (!kMagic.starts_with(rest.substr(0, kMagic.size()))) return malformed_list("it does not begin as one");
      if (rest.size() < kMagic.size()) return Step::kWait;
      rest.remove_prefix(kMagic.size());
      state_ = State::kOuter;
      return Step::kGoOn;
    case State::kOuter: return outer(rest);
    case State::kInner: return inner(rest, envelopes);
    case State::kDone:
      rest = {};  // contentEncoding and contentType, both empty
      return Step::kWait;
  }
  return malformed_list("no such state");
}

base::Status ListSplitter::take_type(std::string_view bytes) {
  const auto type = open(seal({}, {}, {}).append(bytes));
  if (!type) return type.error();
  if (!std::string_view(type->kind).ends_with(kListSuffix)) return malformed_list("it is not a list");
  api_version_ = type->api_version;
  list_kind_ = type->kind;
  item_kind_ = type->kind.substr(0, type->kind.size() - kListSuffix.size());
  return base::Done{};
}

/// Handles one field of the envelope: the type, then the list itself.
base::Result<ListSplitter::Step> ListSplitter::outer(std::string_view& rest) {
  const std::string_view from_here = rest;
  Head head;
  std::string_view at = rest;
  const Taken taken = take_head(at, head);
  if (taken == Taken::kMalformed) return malformed_list("its envelope is malformed");
  if (taken == Taken::kIncomplete) return Step::kWait;
  if (head.number == 2) {
    if (list_kind_.empty()) return malformed_list("it does not say of which kind it is");
    left_ = head.length;
    rest = at;
    state_ = State::kInner;
    return Step::kGoOn;
  }
  if (head.length > max_item_bytes_) return malformed_list("a part of its envelope is longer than allowed");
  if (at.size() < head.length) return Step::kWait;
  at.remove_prefix(head.length);
  if (head.number == 1) {
    if (const auto done = take_type(from_here.substr(0, from_here.size() - at.size())); !done) return done.error();
  }
  rest = at;
  return Step::kGoOn;
}

base::Result<ListSplitter::Step> ListSplitter::inner(std::string_view& rest, std::vector<std::string>& envelopes) {
  if (left_ == 0) {
    finish(envelopes);
    return Step::kGoOn;
  }
  Head head;
  std::string_view at = rest;
  const Taken taken = take_head(at, head);
  if (taken == Taken::kIncomplete && rest.size() < left_) return Step::kWait;
  if (taken != Taken::kYes) return malformed_list("an item is malformed");
  const std::uint64_t head_size = rest.size() - at.size();
  if (head_size > left_ || head.length > left_ - head_size) return malformed_list("an item is longer than the list");
  if (head.length > max_item_bytes_) return malformed_list("an item is longer than allowed");
  if (at.size() < head.length) return Step::kWait;
  const std::string_view body = at.substr(0, head.length);
  if (head.number == kItems) envelopes.push_back(seal(api_version_, item_kind_, body));
  if (head.number == kMetadata) metadata_ = body;
  at.remove_prefix(head.length);
  left_ -= head_size + head.length;
  rest = at;
  return Step::kGoOn;
}

void ListSplitter::finish(std::vector<std::string>& envelopes) {
  std::string list;
  put_bytes(list, kMetadata, metadata_);
  envelopes.push_back(seal(api_version_, list_kind_, list));
  state_ = State::kDone;
}

}  // namespace api::protobuf
