#include "test/bench/web/kept_connection.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace bench {

KeptConnection::KeptConnection(std::uint16_t port, const std::string& ca) {
  kube::Config config;
  config.server = (ca.empty() ? "http://127.0.0.1:" : "https://127.0.0.1:") + std::to_string(port);
  config.ca_pem = ca;
  config.credentials = kube::static_credentials({});
  kube::HttpTransportOptions options;
  options.engine = kube::HttpEngine::kBeast;
  transport_ = *kube::HttpTransport::create(std::move(config), options);
}

KeptConnection::Answer KeptConnection::post(std::string_view path, std::string body) {
  kube::Request request;
  request.method = "POST";
  request.path = path;
  request.content_type = "application/json";
  request.body = std::move(body);
  const auto start = std::chrono::steady_clock::now();
  const auto answer = transport_->round_trip(request);
  const Milliseconds took = std::chrono::steady_clock::now() - start;
  if (!answer) throw std::runtime_error(answer.error().message);
  return {answer->status, took};
}

double percentile(std::vector<double> all, double share) {
  std::ranges::sort(all);
  return all[std::min(all.size() - 1, static_cast<std::size_t>(share * static_cast<double>(all.size())))];
}

}  // namespace bench
