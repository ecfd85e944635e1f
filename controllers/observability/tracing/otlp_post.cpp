#include "controllers/observability/tracing/otlp_post.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "api/meta/names.hpp"
#include "kube/config/credential_scope.hpp"
#include "kube/config/files.hpp"
#include "kube/http/transport.hpp"

namespace controllers {
namespace {

constexpr std::size_t kMaxHeaderBytes = 8192;

/// Excludes control characters, which could end the header.
bool is_header_value(std::string_view value) {
  return !value.empty() && std::ranges::all_of(value, [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); });
}

}  // namespace

base::Result<std::vector<std::pair<std::string, std::string>>> parse_headers(const std::string& text) {
  if (text.size() > kMaxHeaderBytes) return base::invalid(fmt::format("more than {} bytes", kMaxHeaderBytes));
  std::vector<std::pair<std::string, std::string>> headers;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = kube::trim(rest.substr(0, rest.find('\n')));
    rest = rest.find('\n') == std::string_view::npos ? std::string_view() : rest.substr(rest.find('\n') + 1);
    if (line.empty() || line.front() == '#') continue;
    const auto colon = line.find(':');
    const std::string_view name = kube::trim(line.substr(0, colon));
    const std::string_view value = colon == std::string_view::npos ? "" : kube::trim(line.substr(colon + 1));
    if (!api::is_header_name(name) || !is_header_value(value) || kube::is_own_header(name))
      return base::invalid(fmt::format("line {} is not a header such as \"Authorization: Bearer …\"", number));
    headers.emplace_back(name, value);
  }
  return headers;
}

base::Status OtlpPost::connect() {
  std::string text;
  if (!config_.headers_file.empty()) {
    if (auto allowed = kube::may_send_file(config_.headers_file, {config_.endpoint}); !allowed) {
      receiver_.reset();
      return allowed.error().during("tracing.headersFile");
    }
    auto read = kube::read_file(config_.headers_file);
    if (!read) return base::unavailable("tracing.headersFile cannot be read");
    text = *std::move(read);
  }
  if (receiver_ && text == headers_) return base::Done{};
  auto headers = parse_headers(text);
  if (!headers) return headers.error().during("tracing.headersFile");
  auto receiver = HttpReceiver::create({.url = config_.endpoint,
                                        .ca_file = config_.ca_file,
                                        .name = "tracing",
                                        .may_be_plain = config_.insecure,
                                        .headers = *std::move(headers)},
                                       clock_);
  if (!receiver) return receiver.error().during("tracing.endpoint");
  receiver_ = *std::move(receiver);
  headers_ = std::move(text);
  return base::Done{};
}

base::Result<kube::Response> OtlpPost::operator()(const std::string& body) {
  if (auto connected = connect(); !connected) return connected.error();
  return receiver_->post(body, config_.timeout);
}

}  // namespace controllers
