#include "kube/http/stream_splitter.hpp"

#include <utility>

#include "api/core/protobuf/envelope.hpp"
#include "api/core/protobuf/list_splitter.hpp"

namespace kube {
namespace {

/// Splits lines. Drops empty ones, and treats "\r\n" as "\n".
class Lines final : public StreamSplitter {
 public:
  explicit Lines(std::size_t longest) : max_line_bytes_(longest) {}

  base::Status feed(std::string_view bytes, std::vector<std::string>& pieces) override {
    for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      partial_.append(bytes.substr(0, end));
      if (partial_.size() > max_line_bytes_) return too_long();
      if (partial_.ends_with('\r')) partial_.pop_back();
      if (!partial_.empty()) pieces.push_back(std::exchange(partial_, {}));
      bytes.remove_prefix(end + 1);
    }
    partial_.append(bytes);
    return partial_.size() <= max_line_bytes_ ? base::Status(base::Done{}) : too_long();
  }

 private:
  static base::Error too_long() { return base::unavailable("a line exceeds the maximum length"); }

  const std::size_t max_line_bytes_;
  std::string partial_;
};

/// Splits frames of a 4-byte big-endian length followed by one event of that length.
class Frames final : public StreamSplitter {
 public:
  explicit Frames(std::size_t longest) : max_item_bytes_(longest) {}

  base::Status feed(std::string_view bytes, std::vector<std::string>& pieces) override {
    pending_.append(bytes);
    std::string_view rest = pending_;
    while (rest.size() >= kHead) {
      const std::size_t length = length_of(rest);
      if (length > max_item_bytes_) return base::unavailable("a watch event exceeds the maximum length");
      if (rest.size() - kHead < length) break;
      if (length > 0) pieces.emplace_back(rest.substr(kHead, length));
      rest.remove_prefix(kHead + length);
    }
    pending_.erase(0, pending_.size() - rest.size());
    if (pending_.empty() && pending_.capacity() > kKept) std::string().swap(pending_);
    return base::Done{};
  }

 private:
  static constexpr std::size_t kHead = 4;
  static constexpr std::size_t kKept = 256 << 10;  ///< maximum capacity kept after a single large event

  static std::size_t length_of(std::string_view head) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < kHead; ++i) length = length << 8U | static_cast<unsigned char>(head[i]);
    return length;
  }

  const std::size_t max_item_bytes_;
  std::string pending_;
};

class Items final : public StreamSplitter {
 public:
  explicit Items(std::size_t longest) : list_(longest) {}
  base::Status feed(std::string_view bytes, std::vector<std::string>& pieces) override {
    return list_.feed(bytes, pieces);
  }

 private:
  api::protobuf::ListSplitter list_;
};

}  // namespace

std::unique_ptr<StreamSplitter> make_splitter(StreamKind kind, std::string_view content_type, std::size_t longest) {
  const bool is_protobuf = content_type.starts_with(api::protobuf::kMediaType);
  if (kind == StreamKind::kList && !is_protobuf) return nullptr;
  if (kind == StreamKind::kList) return std::make_unique<Items>(longest);
  if (is_protobuf) return std::make_unique<Frames>(longest);
  return std::make_unique<Lines>(longest);
}

}  // namespace kube
