/// Any text as an audit log: no crash, an accepted record is byte-identical to the one that would be written, and the
/// verifier and the tail reader agree.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "telemetry/audit/chain.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  audit::ChainChecker checker;
  std::uint64_t readable = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const auto parsed = audit::parse_line(line);
    if (parsed && parsed->intact()) {
      audit::Record again = parsed->record;
      if (audit::bounded(again) == again && audit::seal(again, {again.seq - 1, again.prev_hash}).text != line)
        std::abort();
    }
    readable += parsed ? 1 : 0;
    (void)checker.feed(line);
    at = end + 1;
  }
  if (checker.records() > readable) std::abort();
  const audit::Tail tail = audit::read_tail(text);
  if (tail.last.has_value() != (readable > 0)) std::abort();
  return 0;
}
