#include "controllers/http_services.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kube/http/transport.hpp"

namespace controllers {
namespace {

kube::HttpTransportOptions service_options() {
  kube::HttpTransportOptions options;
  options.engine = kube::HttpEngine::kBeast;
  options.max_connections = 16;
  options.connect_timeout = base::milliseconds(5'000);
  options.handshake_timeout = base::milliseconds(5'000);
  options.max_list_bytes = kMaxServiceAnswer;
  options.max_body_bytes = kMaxServiceAnswer;
  return options;
}

}  // namespace

kube::Config connection_to(const ServiceConfig& service, const base::Clock& clock) {
  kube::Config config;
  config.server = service.url;
  config.ca_file = service.ca_file;
  config.source = "service " + service.name;
  kube::CredentialFiles files;
  files.token_file = service.token_file;
  files.client_certificate_file = service.cert_file;
  files.client_key_file = service.key_file;
  config.credentials = kube::file_credentials(std::move(files), clock);
  return config;
}

base::Result<std::unique_ptr<HttpServices>> HttpServices::create(const std::vector<ServiceConfig>& services,
                                                                 const base::Clock& clock) {
  std::unique_ptr<HttpServices> made(new HttpServices());
  for (const ServiceConfig& each : services) {
    auto transport = kube::HttpTransport::create(connection_to(each, clock), service_options());
    if (!transport) return std::move(transport).error().during("services: " + each.name);
    made->services_[each.name] = {*std::move(transport), std::chrono::duration_cast<base::milliseconds>(each.timeout)};
    made->names_.push_back(each.name);
  }
  return made;
}

HttpServices::~HttpServices() = default;

evictors::CallResult HttpServices::send(const std::string& service, const kube::Request& request) {
  const auto found = services_.find(service);
  if (found == services_.end())
    return base::invalid(fmt::format("service {} is not in the operator's configuration", service));
  kube::Request bounded = request;
  bounded.timeout = std::min(bounded.timeout, found->second.timeout);
  return found->second.transport->round_trip(bounded);
}

void HttpServices::shut_down() {
  for (auto& [name, service] : services_) service.transport->shut_down();
}

}  // namespace controllers
