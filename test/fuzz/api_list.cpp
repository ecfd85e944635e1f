/// Any bytes as a List answer: no crash, items are objects or envelopes, and decoding them inside the walk does not
/// disturb it.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/core/codec.hpp"
#include "api/core/protobuf/envelope.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::size_t plain = 0;
  std::size_t decoding = 0;
  const auto first = api::for_each_item(text, [&](std::string_view item) -> base::Status {
    if (!item.starts_with('{') && !api::protobuf::is_envelope(item)) std::abort();
    ++plain;
    return base::Done{};
  });
  const auto second = api::for_each_item(text, [&](std::string_view item) -> base::Status {
    static_cast<void>(api::decode_pod(item));
    ++decoding;
    return base::Done{};
  });
  if (plain != decoding || first.ok() != second.ok()) std::abort();
  if (first && first->resource_version != second->resource_version) std::abort();
  return 0;
}
