#include "kube/http/response_reader.hpp"

#include <fmt/format.h>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <charconv>

namespace kube {
namespace {

namespace http = boost::beast::http;
using BeastError = boost::beast::error_code;

constexpr std::uint32_t kMaxHeader = 64 << 10;

}  // namespace

/// Beast's parser with callbacks into ResponseReader. Its text views are boost::string_view.
class ResponseParser final : public http::basic_parser<false> {
 public:
  ResponseParser(std::uint64_t limit, const ResponseReader::OnBody& on_body, bool expects_body) : on_body_(on_body) {
    header_limit(kMaxHeader);
    body_limit(limit);
    eager(true);
    skip(!expects_body);
  }
  const ResponseHead& head() const { return head_; }

 private:
  using Text = boost::beast::string_view;

  void on_request_impl(http::verb, Text, Text, int, BeastError& error) override { error = http::error::bad_method; }
  void on_response_impl(int status, Text, int, BeastError&) override { head_.status = status; }
  void on_field_impl(http::field name, Text, Text value, BeastError&) override {
    const std::string_view text(value.data(), value.size());
    if (name == http::field::content_type) head_.content_type = text;
    if (name == http::field::retry_after) head_.retry_after = parse_retry_after(text);
  }
  void on_header_impl(BeastError&) override {}
  void on_body_init_impl(boost::optional<std::uint64_t> const&, BeastError&) override {}
  std::size_t on_body_impl(Text body, BeastError& error) override { return take(body, error); }
  void on_chunk_header_impl(std::uint64_t, Text, BeastError&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text body, BeastError& error) override { return take(body, error); }
  void on_finish_impl(BeastError&) override {}

  std::size_t take(Text body, BeastError& error) {
    if (!on_body_({body.data(), body.size()})) error = http::error::body_limit;
    return body.size();
  }

  const ResponseReader::OnBody& on_body_;
  ResponseHead head_;
};

struct ResponseReader::Impl {
  Impl(std::uint64_t limit_in, OnBody on_body_in, bool expects_body_in)
      : limit(limit_in), on_body(std::move(on_body_in)), expects_body(expects_body_in) {
    parser.emplace(limit, on_body, expects_body);
  }
  bool is_interim() const {
    return parser->is_header_done() && parser->head().status >= 100 && parser->head().status < 200 && parser->is_done();
  }
  base::Error broken(const BeastError& error) const {
    std::string why = error == http::error::body_limit ? fmt::format("is larger than {} MiB", limit >> 20)
                                                       : "is not valid HTTP: " + error.message();
    return {base::ErrorCode::kOutcomeUnknown, "the response " + why};
  }

  const std::uint64_t limit;
  const OnBody on_body;
  const bool expects_body;
  std::optional<ResponseParser> parser;
  std::string pending;  // bytes that the parser has not consumed yet
  bool failed = false;
};

ResponseReader::ResponseReader(std::uint64_t body_limit, OnBody on_body, bool expects_body)
    : impl_(std::make_unique<Impl>(body_limit, std::move(on_body), expects_body)) {}

ResponseReader::~ResponseReader() = default;

base::Status ResponseReader::feed(std::string_view bytes) {
  impl_->pending.append(bytes);
  std::size_t used = 0;
  while (used < impl_->pending.size() && !impl_->failed && !done()) {
    BeastError error;
    const std::size_t taken = impl_->parser->put(
        boost::asio::const_buffer(impl_->pending.data() + used, impl_->pending.size() - used), error);
    used += taken;
    if (impl_->is_interim()) impl_->parser.emplace(impl_->limit, impl_->on_body, impl_->expects_body);
    if (error == http::error::need_more || (!error && taken == 0)) break;
    if (!error) continue;
    impl_->failed = true;
    return impl_->broken(error);
  }
  impl_->pending.erase(0, used);
  return base::Done{};
}

base::Status ResponseReader::end() {
  BeastError error;
  if (!impl_->failed && !done() && has_head()) impl_->parser->put_eof(error);
  if (done() && !error) return base::Done{};
  return base::Error{base::ErrorCode::kOutcomeUnknown, has_head()
                                                           ? "the connection was closed in the middle of the response"
                                                           : "the connection was closed before the response"};
}

bool ResponseReader::has_head() const { return impl_->parser->is_header_done(); }
const ResponseHead& ResponseReader::head() const { return impl_->parser->head(); }
bool ResponseReader::done() const { return impl_->parser->is_done() && !impl_->failed; }
bool ResponseReader::reusable() const { return done() && impl_->pending.empty() && impl_->parser->keep_alive(); }

std::optional<base::seconds> parse_retry_after(std::string_view value) {
  std::int64_t seconds = 0;
  const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  const bool overflow = failed == std::errc::result_out_of_range && !value.empty() && value.front() != '-';
  if (overflow) return base::seconds(86'400);
  if (failed != std::errc() || end != value.data() + value.size() || seconds < 0) return std::nullopt;
  return base::seconds(std::min<std::int64_t>(seconds, 86'400));
}

}  // namespace kube
