#include "controllers/operator/http_services.hpp"

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

kube::Config connection_to(const ServiceConfig& service, const base::Clock& clock, HttpServices::Trust trust) {
  kube::Config config;
  config.server = service.url;
  config.ca_file = service.ca_file;
  config.source = "service " + service.name;
  kube::CredentialFiles files;
  files.token_file = service.token_file;
  files.client_certificate_file = service.cert_file;
  files.client_key_file = service.key_file;
  if (trust == HttpServices::Trust::kSecrets) files.target = {service.url};
  config.credentials = kube::file_credentials(std::move(files), clock);
  return config;
}

}  // namespace

base::Result<std::unique_ptr<HttpServices>> HttpServices::create(const std::vector<ServiceConfig>& services,
                                                                 const base::Clock& clock, Trust trust) {
  std::unique_ptr<HttpServices> made(new HttpServices());
  for (const ServiceConfig& each : services) {
    auto transport = kube::HttpTransport::create(connection_to(each, clock, trust), service_options());
    if (!transport) return std::move(transport).error().during("services: " + each.name);
    made->services_[each.name] = {each, *std::move(transport)};
    made->names_.push_back(each.name);
  }
  return made;
}

HttpServices::~HttpServices() = default;

std::string HttpServices::refusal(const evacuation::ServiceCall& call) const {
  const auto found = services_.find(call.service);
  return found == services_.end() ? std::string() : controllers::refusal(found->second.config, call.use, call.ns);
}

evictors::CallResult HttpServices::send(const evacuation::ServiceCall& call, const kube::Request& request) {
  const auto found = services_.find(call.service);
  if (found == services_.end())
    return base::invalid(fmt::format("service {} is not in the operator's configuration", call.service));
  if (std::string why = refusal(call); !why.empty()) return base::invalid(std::move(why));
  kube::Request bounded = request;
  const auto most = std::chrono::duration_cast<base::milliseconds>(found->second.config.timeout);
  bounded.timeout = std::min(bounded.timeout, most);
  return found->second.transport->round_trip(bounded);
}

void HttpServices::shut_down() {
  for (auto& [name, service] : services_) service.transport->shut_down();
}

}  // namespace controllers
