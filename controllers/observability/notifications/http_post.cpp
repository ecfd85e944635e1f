#include "controllers/observability/notifications/http_post.hpp"

#include <fstream>

#include "kube/config/files.hpp"

namespace controllers {
namespace {

constexpr std::size_t kMaxUrl = 4096;

base::Result<std::string> url_of(const NotificationChannel& channel) {
  std::string text;
  text.resize(kMaxUrl + 1);
  std::ifstream file(channel.url_file, std::ios::binary);
  if (!file) return base::unavailable("urlFile cannot be read");
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  std::string url(kube::trim(text));
  if (url.size() > kMaxUrl) return base::invalid("urlFile contains no usable URL: it is too long");
  return url;
}

}  // namespace

base::Result<kube::Response> HttpPost::operator()(const NotificationChannel& channel, const std::string& body) {
  const auto url = url_of(channel);
  if (!url) return url.error();
  Connection& connection = connections_[channel.name];
  if (connection.url != *url || !connection.receiver) {
    connection = {};
    auto receiver = HttpReceiver::create(
        {.url = *url, .ca_file = channel.ca_file, .name = "notifications: " + channel.name}, clock_);
    if (!receiver) return receiver.error().during("urlFile");
    connection = {*url, *std::move(receiver)};
  }
  return connection.receiver->post(body, channel.timeout);
}

}  // namespace controllers
