/// Any bytes as an HTTP answer, split anywhere: no crash, limited size, and the result is independent of the split.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kube/classify.hpp"
#include "kube/client.hpp"
#include "kube/http/response_reader.hpp"
#include "kube/http/stream_splitter.hpp"

namespace {

constexpr std::size_t kLimit = 4096;

struct Read {
  bool failed = false;
  bool done = false;
  int status = 0;
  std::string body;
  friend bool operator==(const Read&, const Read&) = default;
};

Read read_in_pieces(std::string_view bytes, std::size_t piece) {
  Read result;
  kube::ResponseReader reader(kLimit, [&](std::string_view part) {
    result.body.append(part);
    return true;
  });
  while (!bytes.empty() && !result.failed && !reader.done()) {
    const std::size_t size = std::min(piece, bytes.size());
    result.failed = !reader.feed(bytes.substr(0, size)).ok();
    bytes.remove_prefix(size);
  }
  if (result.body.size() > kLimit + piece) std::abort();
  if (!result.failed && !reader.done()) (void)reader.end();
  result.done = reader.done();
  if (reader.has_head()) result.status = reader.head().status;
  if (reader.reusable() && !reader.done()) std::abort();
  return result;
}

void split_lines(std::string_view bytes, std::size_t piece) {
  const auto splitter = kube::make_splitter(kube::StreamKind::kWatch, "application/json", 1000);
  std::vector<std::string> lines;
  bool fine = true;
  while (!bytes.empty() && fine) {
    const std::size_t size = std::min(piece, bytes.size());
    fine = splitter->feed(bytes.substr(0, size), lines).ok();
    bytes.remove_prefix(size);
  }
  for (const std::string& line : lines) {
    if (line.empty() || line.size() > 1000 || line.find('\n') != std::string::npos) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::size_t piece = data[0] % 64 + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const Read whole = read_in_pieces(bytes, bytes.size() + 1);
  const Read pieces = read_in_pieces(bytes, piece);
  if (whole.done && pieces.done && (whole.status != pieces.status || whole.body != pieces.body)) std::abort();
  split_lines(bytes, piece);
  (void)kube::parse_retry_after(bytes);
  (void)kube::error_of_status(bytes);
  (void)kube::classify({whole.status, std::string(bytes), {}, piece % 2 == 0 ? "text/html" : ""});
  return 0;
}
