#include "simulator/webhooks/configured.hpp"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <utility>

#include "kube/http/transport.hpp"

namespace simulator {
namespace {

using TransportPtr = std::shared_ptr<kube::HttpTransport>;

class HttpsCaller {
 public:
  explicit HttpsCaller(std::map<std::string, std::string> hosts) : hosts_(std::move(hosts)) {}

  base::Result<std::string> call(const WebhookCall& call) {
    const auto transport = transport_to(call);
    if (!transport) return transport.error();
    kube::Request request;
    request.method = "POST";
    const std::size_t question = call.path.find('?');
    request.path = call.path.substr(0, question);
    if (question != std::string::npos) request.query = call.path.substr(question + 1);
    request.content_type = "application/json";
    request.body = call.body;
    request.timeout = call.timeout;
    auto answer = (*transport)->round_trip(request);
    if (!answer) return answer.error().during(fmt::format("Post \"https://{}{}\"", call.host, call.path));
    if (answer->status != 200) return base::unavailable(fmt::format("the server returned status {}", answer->status));
    return std::move(answer->body);
  }

 private:
  static constexpr std::size_t kMaxKept = 16;

  base::Result<TransportPtr> transport_to(const WebhookCall& call) {
    const std::scoped_lock lock(mutex_);
    const std::pair key(call.host, call.ca_pem);
    if (const auto known = transports_.find(key); known != transports_.end()) return known->second;
    if (transports_.size() >= kMaxKept) transports_.clear();
    kube::Config config;
    const auto moved = hosts_.find(call.host);
    config.server = "https://" + (moved == hosts_.end() ? call.host : moved->second);
    if (moved != hosts_.end()) config.tls_server_name = call.host.substr(0, call.host.rfind(':'));
    config.ca_pem = call.ca_pem;
    config.source = "a webhook configuration";
    config.credentials = kube::static_credentials({});
    kube::HttpTransportOptions options;
    options.engine = kube::HttpEngine::kBeast;
    auto made = kube::HttpTransport::create(std::move(config), options);
    if (!made) return made.error();
    return transports_[key] = TransportPtr(*std::move(made));
  }

  const std::map<std::string, std::string> hosts_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, TransportPtr> transports_;  ///< by host and CA certificates
};

}  // namespace

WebhookCaller https_caller(std::map<std::string, std::string> hosts) {
  auto caller = std::make_shared<HttpsCaller>(std::move(hosts));
  return [caller](const WebhookCall& call) { return caller->call(call); };
}

}  // namespace simulator
