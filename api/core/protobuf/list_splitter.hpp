#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace api::protobuf {

/// Cuts a List in protobuf, as its bytes come in, into its items, so that never more than one of them is held. Not
/// thread-safe.
class ListSplitter {
 public:
  /// An item longer than `longest` is an error.
  explicit ListSplitter(std::uint64_t longest) : longest_(longest) {}

  /// Appends what `bytes` completes: an envelope for each item, and after the last one an envelope with the list's own
  /// kind ("PodList") and metadata. kInvalid: it is no such list; nothing may be fed any more.
  base::Status feed(std::string_view bytes, std::vector<std::string>& envelopes);
  /// The envelope with the list's metadata has been appended.
  bool is_complete() const { return state_ == State::kDone; }

 private:
  enum class State { kMagic, kOuter, kInner, kDone };
  enum class Step { kGoOn, kWait };

  base::Result<Step> step(std::string_view& rest, std::vector<std::string>& envelopes);
  base::Result<Step> outer(std::string_view& rest);
  base::Result<Step> inner(std::string_view& rest, std::vector<std::string>& envelopes);
  base::Status take_type(std::string_view bytes);
  void finish(std::vector<std::string>& envelopes);

  const std::uint64_t longest_;
  State state_ = State::kMagic;
  std::string pending_;
  std::string api_version_;
  std::string list_kind_;
  std::string item_kind_;
  std::string metadata_;
  std::uint64_t left_ = 0;  ///< of the list's bytes
};

}  // namespace api::protobuf
