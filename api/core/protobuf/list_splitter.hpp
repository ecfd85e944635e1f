#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace api::protobuf {

/// Splits a protobuf List into its items while its bytes arrive, so that at most one item is buffered. Not thread-safe.
class ListSplitter {
 public:
  /// An item longer than `longest` bytes is an error.
  explicit ListSplitter(std::uint64_t longest) : max_item_bytes_(longest) {}

  /// Appends an envelope for each item that `bytes` completes, and after the last item an envelope with the list's kind
  /// ("PodList") and metadata. Returns kInvalid if the bytes are not such a list; feed() must not be called afterwards.
  base::Status feed(std::string_view bytes, std::vector<std::string>& envelopes);
  /// Returns true once the envelope with the list's metadata was appended.
  bool is_complete() const { return state_ == State::kDone; }

 private:
  enum class State { kPrefix, kOuter, kInner, kDone };
  enum class Step { kGoOn, kWait };

  base::Result<Step> step(std::string_view& rest, std::vector<std::string>& envelopes);
  base::Result<Step> outer(std::string_view& rest);
  base::Result<Step> inner(std::string_view& rest, std::vector<std::string>& envelopes);
  base::Status take_type(std::string_view bytes);
  void finish(std::vector<std::string>& envelopes);

  const std::uint64_t max_item_bytes_;
  State state_ = State::kPrefix;
  std::string pending_;
  std::string api_version_;
  std::string list_kind_;
  std::string item_kind_;
  std::string metadata_;
  std::uint64_t left_ = 0;  ///< number of unread bytes of the list
};

}  // namespace api::protobuf
