#include "controllers/observability/http_receiver.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kube/config/credentials.hpp"
#include "kube/config/url.hpp"
#include "kube/http/transport.hpp"

namespace controllers {
namespace {

base::Error bad_url(std::string_view why) { return base::invalid("not a usable URL: " + std::string(why)); }

kube::HttpTransportOptions receiver_transport(const ReceiverOptions& from) {
  kube::HttpTransportOptions options;
  options.engine = kube::HttpEngine::kBeast;
  options.max_connections = 1;
  options.connect_timeout = base::milliseconds(5'000);
  options.handshake_timeout = base::milliseconds(5'000);
  options.max_body_bytes = std::size_t{64} << 10;
  options.headers = from.headers;
  return options;
}

}  // namespace

HttpReceiver::HttpReceiver(std::unique_ptr<kube::HttpTransport> transport, std::string path, std::string query)
    : transport_(std::move(transport)), path_(std::move(path)), query_(std::move(query)) {}
HttpReceiver::~HttpReceiver() = default;

base::Result<std::unique_ptr<HttpReceiver>> HttpReceiver::create(const ReceiverOptions& options,
                                                                 const base::Clock& clock) {
  if (options.url.find("://") == std::string::npos) return bad_url("must begin with https://");
  const auto mark = options.url.find('?');
  const auto parsed = kube::parse_url(options.url.substr(0, mark));
  if (!parsed) return bad_url("it cannot be read");
  if (!parsed->user_info.empty()) return bad_url("must not contain a user name or password");
  if (!parsed->tls && !options.may_be_plain && !parsed->is_loopback())
    return bad_url("http is allowed only to loopback addresses");
  kube::Config config;
  config.server = (parsed->tls ? "https://" : "http://") + parsed->authority();
  config.ca_file = options.ca_file;
  config.source = options.name;
  config.credentials = kube::file_credentials({}, clock);
  auto transport = kube::HttpTransport::create(std::move(config), receiver_transport(options));
  if (!transport) return base::invalid("caFile or the URL cannot be used");
  return std::unique_ptr<HttpReceiver>(
      new HttpReceiver(*std::move(transport), parsed->path.empty() ? "/" : parsed->path,
                       mark == std::string::npos ? std::string() : options.url.substr(mark + 1)));
}

base::Result<kube::Response> HttpReceiver::post(const std::string& body, base::Duration timeout) {
  kube::Request request;
  request.method = "POST";
  request.path = path_;
  request.query = query_;
  request.content_type = "application/json";
  request.accept = "*/*";  // chat services respond with text, many servers with an empty body
  request.body = body;
  request.timeout = std::chrono::duration_cast<base::milliseconds>(timeout);
  auto answer = transport_->round_trip(request);
  if (!answer) return base::Error{answer.error().code, "the receiver does not respond"};
  return answer;
}

bool is_accepted(const base::Result<kube::Response>& answer) {
  return answer && answer->status >= 200 && answer->status < 300;
}

bool is_lost(const base::Result<kube::Response>& answer) {
  return !answer &&
         (base::is_retriable(answer.error().code) || answer.error().code == base::ErrorCode::kOutcomeUnknown);
}

std::string outcome_text(const base::Result<kube::Response>& answer, const kube::ServerSettings& settings) {
  if (!answer) return fmt::format("{}: {}", to_string(answer.error().code), answer.error().message);
  return fmt::format("{}: {}", answer->status, kube::explain_refusal(answer->status, settings));
}

base::Duration pause_after(const base::Result<kube::Response>& answer, const base::Backoff& backoff, int failures) {
  const base::Duration pause = base::backoff_delay(backoff, failures);
  if (!answer || !answer->retry_after) return pause;
  return std::clamp<base::Duration>(*answer->retry_after, pause, kMaxReceiverPause);
}

}  // namespace controllers
