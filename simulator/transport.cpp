#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "api/core/protobuf/envelope.hpp"
#include "api/core/protobuf/list_splitter.hpp"
#include "kube/client.hpp"
#include "simulator/api/server.hpp"

namespace simulator {
namespace {

constexpr std::uint64_t kMaxItem = std::uint64_t{64} << 20U;
constexpr std::size_t kPiece = 4096;  ///< chunk size in which the body is parsed, as if received over a network

/// Streams the items of a list's body, up to the position where a fault cuts it.
class ListStream final : public kube::WatchStream {
 public:
  ListStream(std::string body, std::size_t cut_at) : body_(std::move(body)), end_(std::min(cut_at, body_.size())) {}

  base::Result<std::optional<std::string>> next(base::milliseconds /*wait*/) override {
    if (cancelled_) return base::Error{base::ErrorCode::kCancelled, "the list was cancelled"};
    while (items_.empty()) {
      if (at_ == end_) return base::unavailable("the server ended the list");
      const std::string_view piece = std::string_view(body_).substr(at_, std::min(kPiece, end_ - at_));
      at_ += piece.size();
      std::vector<std::string> complete;
      if (const auto fed = splitter_.feed(piece, complete); !fed) return base::unavailable(fed.error().message);
      std::ranges::move(complete, std::back_inserter(items_));
    }
    std::string item = std::move(items_.front());
    items_.pop_front();
    return std::optional<std::string>(std::move(item));
  }

  void cancel() override { cancelled_ = true; }

 private:
  const std::string body_;
  const std::size_t end_;
  std::size_t at_ = 0;
  api::protobuf::ListSplitter splitter_{kMaxItem};
  std::deque<std::string> items_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace

base::Result<kube::Response> SimulatorTransport::round_trip(const kube::Request& request) {
  ApiAnswer answer = server_.answer(request, user_);
  if (answer.dropped)
    return base::Error{base::ErrorCode::kOutcomeUnknown,
                       "the connection was closed before the response (fault injected by the simulator)"};
  if (answer.delay >= request.timeout) {
    return base::Error{
        base::ErrorCode::kOutcomeUnknown,
        fmt::format("no response within {} ms (fault injected by the simulator)", request.timeout.count())};
  }
  if (answer.cut_at)
    return base::Error{base::ErrorCode::kOutcomeUnknown,
                       "the connection was closed during the response (fault injected by the simulator)"};
  return std::move(answer.response);
}

base::Result<std::unique_ptr<kube::WatchStream>> SimulatorTransport::list(const kube::Request& request) {
  ApiAnswer answer = server_.answer(request, user_);
  if (answer.dropped || answer.delay >= request.timeout)
    return base::unavailable("the connection was closed before the response (fault injected by the simulator)");
  if (answer.response.status != 200) {
    auto classified = kube::classify(std::move(answer.response));
    if (!classified) return std::move(classified).error();
    return base::unavailable("the server rejected the list");
  }
  if (answer.response.content_type != api::protobuf::kMediaType)
    return base::Error{base::ErrorCode::kUnsupported,
                       "unexpected content type of the list: " + answer.response.content_type};
  const std::size_t end = answer.cut_at.value_or(answer.response.body.size());
  return std::unique_ptr<kube::WatchStream>(std::make_unique<ListStream>(std::move(answer.response.body), end));
}

base::Result<std::unique_ptr<kube::WatchStream>> SimulatorTransport::watch(const kube::Request& request) {
  ApiServer::WatchAnswer answer = server_.watch(request, user_);
  if (answer.stream) return std::move(answer.stream);
  if (answer.refusal.status == 0)
    return base::unavailable("the connection was closed (fault injected by the simulator)");
  auto classified = kube::classify(std::move(answer.refusal));
  if (classified) return base::unavailable("the server rejected the watch");
  return std::move(classified).error();
}

}  // namespace simulator
