#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/http/beast_engine.hpp"

namespace kube {

/// Splits a stream of bytes into the pieces that WatchStream::next() returns. Pure, not thread-safe.
class StreamSplitter {
 public:
  virtual ~StreamSplitter() = default;
  /// Appends the pieces that `bytes` completes. After an error the stream is unusable.
  virtual base::Status feed(std::string_view bytes, std::vector<std::string>& pieces) = 0;
};

/// Returns a splitter for the content type: lines of JSON or frames of protobuf for a watch, items of protobuf for a
/// list. `longest` is the maximum size of one piece. Returns nullptr for a list that is not in protobuf.
std::unique_ptr<StreamSplitter> make_splitter(StreamKind kind, std::string_view content_type, std::size_t longest);

}  // namespace kube
