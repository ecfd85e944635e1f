#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/http/beast_engine.hpp"

namespace kube {

/// Cuts a stream of bytes into what WatchStream::next() returns. Pure, not thread-safe.
class StreamSplitter {
 public:
  virtual ~StreamSplitter() = default;
  /// Appends what `bytes` completes. An error: the stream is unusable.
  virtual base::Status feed(std::string_view bytes, std::vector<std::string>& pieces) = 0;
};

/// Lines of JSON or frames of protobuf for a watch, items of protobuf for a list, as the content type says. `longest`:
/// of one piece. nullptr: a list that is not in protobuf.
std::unique_ptr<StreamSplitter> make_splitter(StreamKind kind, std::string_view content_type, std::size_t longest);

}  // namespace kube
