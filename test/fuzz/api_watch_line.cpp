/// Any bytes as a watch line or frame: no crash, and the object is a view into the input and a JSON object or an
/// envelope.

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "api/core/codec.hpp"
#include "api/core/protobuf/envelope.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const auto watch = api::split_watch_line(line);
  if (!watch) return 0;
  const std::less_equal<const char*> not_after;
  if (!not_after(line.data(), watch->object.data())) std::abort();
  if (!not_after(watch->object.data() + watch->object.size(), line.data() + line.size())) std::abort();
  if (!watch->object.starts_with('{') && !api::protobuf::is_envelope(watch->object)) std::abort();
  static_cast<void>(api::decode_meta(watch->object));
  return 0;
}
