#include "controllers/notifications/http_post.hpp"

#include <fstream>

#include "controllers/config/services_config.hpp"
#include "kube/config/credentials.hpp"
#include "kube/config/files.hpp"
#include "kube/config/url.hpp"
#include "kube/http/transport.hpp"

namespace controllers {
namespace {

constexpr std::size_t kLongestUrl = 4096;

base::Error bad_url(std::string_view why) { return base::invalid("urlFile holds no usable URL: " + std::string(why)); }

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

kube::HttpTransportOptions post_options() {
  kube::HttpTransportOptions options;
  options.engine = kube::HttpEngine::kBeast;
  options.max_connections = 1;
  options.connect_timeout = base::milliseconds(5'000);
  options.handshake_timeout = base::milliseconds(5'000);
  options.max_body_bytes = std::size_t{64} << 10;
  return options;
}

}  // namespace

HttpPost::HttpPost(const base::Clock& clock) : clock_(clock) {}
HttpPost::~HttpPost() = default;

base::Status HttpPost::connect(const NotificationChannel& channel, const std::string& url,
                               Connection& connection) const {
  if (url.find("://") == std::string::npos) return bad_url("it must begin with https://");
  const auto mark = url.find('?');
  const auto parsed = kube::parse_url(url.substr(0, mark));
  if (!parsed) return bad_url("it cannot be read");
  if (!parsed->user_info.empty()) return bad_url("it must not carry a user or password");
  if (!parsed->tls && !is_loopback_host(parsed->host)) return bad_url("http is only allowed to this machine");
  kube::Config config;
  config.server = (parsed->tls ? "https://" : "http://") + parsed->authority();
  config.ca_file = channel.ca_file;
  config.source = "notifications: " + channel.name;
  config.credentials = kube::file_credentials({}, clock_);
  auto transport = kube::HttpTransport::create(std::move(config), post_options());
  if (!transport) return base::invalid("caFile or urlFile cannot be used");
  connection = {url, parsed->path.empty() ? "/" : parsed->path,
                mark == std::string::npos ? std::string() : url.substr(mark + 1), *std::move(transport)};
  return base::Done{};
}

base::Result<kube::Response> HttpPost::operator()(const NotificationChannel& channel, const std::string& body) {
  std::string text;
  text.resize(kLongestUrl + 1);
  std::ifstream file(channel.url_file, std::ios::binary);
  if (!file) return base::unavailable("urlFile cannot be read");
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  const std::string url = trimmed(text);
  if (url.size() > kLongestUrl) return bad_url("it is too long");
  Connection& connection = connections_[channel.name];
  if (connection.url != url || !connection.transport) {
    connection = {};
    if (auto connected = connect(channel, url, connection); !connected) return connected.error();
  }
  kube::Request request;
  request.method = "POST";
  request.path = connection.path;
  request.query = connection.query;
  request.content_type = "application/json";
  request.body = body;
  request.timeout = std::chrono::duration_cast<base::milliseconds>(channel.timeout);
  auto answer = connection.transport->round_trip(request);
  if (!answer) return base::Error{answer.error().code, "the receiver does not answer"};
  return answer;
}

}  // namespace controllers
