#include "controllers/webhooks/webhook_server.hpp"

#include "http_server/address.hpp"
#include "kube/config/files.hpp"

namespace controllers {
namespace {

/// Limits are generous: the API server waits for one second.
http_server::ServerOptions webhook_options(const std::string& address) {
  http_server::ServerOptions options = http_server::server_options(address);
  options.io_threads = 2;  // a large body must not delay the others
  options.handler_threads = 4;
  options.max_connections = 256;
  options.max_body_bytes = kMaxReviewBytes;
  options.max_all_body_bytes = kMaxReviewsBytes;
  options.body_timeout = base::milliseconds(5'000);
  options.response_timeout = base::milliseconds(5'000);
  return options;
}

}  // namespace

WebhookServer::WebhookServer(std::string address, std::vector<std::string> names, std::map<std::string, Answer> answers,
                             base::Log log, http_server::OnEnd on_end, std::string client_ca_file)
    : address_(std::move(address)),
      names_(std::move(names)),
      answers_(std::move(answers)),
      log_(std::move(log)),
      on_end_(std::move(on_end)),
      client_ca_file_(std::move(client_ca_file)) {}

base::Result<http_server::Certificate> WebhookServer::certificate_of(
    const http_server::ServerIdentity& identity) const {
  http_server::Certificate certificate{identity.certificate + identity.ca, identity.key};
  if (client_ca_file_.empty()) return certificate;
  auto authorities = kube::read_file(client_ca_file_);
  if (!authorities) return std::move(authorities).error().during("webhook.clientCAFile");
  if (kube::trim(*authorities).empty()) return base::invalid("webhook.clientCAFile: " + client_ca_file_ + " is empty");
  certificate.client_ca_pem = *std::move(authorities);
  return certificate;
}

base::Status WebhookServer::start(base::TimePoint now) {
  if (auto problem = http_server::address_problem(address_); !problem.empty())
    return base::invalid("webhook.address: " + problem);
  const auto first = http_server::make_server_identity(names_, now, "evacuator");
  if (!first) return first.error().during("webhook: making a certificate");
  auto certificate = certificate_of(*first);
  if (!certificate) return std::move(certificate).error();
  http_server::ServerOptions options = webhook_options(address_);
  options.certificate = *std::move(certificate);
  options.on_end = on_end_;
  server_.emplace(
      std::move(options), [this](const http_server::Request& request) { return answer(request); }, log_);
  return server_->start();
}

base::Status WebhookServer::serve(const http_server::ServerIdentity& identity) {
  auto certificate = certificate_of(identity);
  if (!certificate) return std::move(certificate).error();
  auto taken = server_->reload(*certificate);
  if (taken) log_.info("the webhook serves a new certificate");
  return taken;
}

http_server::Response WebhookServer::answer(const http_server::Request& request) const {
  const auto asked = answers_.find(request.path);
  if (asked == answers_.end()) return {.status = 404, .body = "no webhook is served at this path\n"};
  if (request.method != "POST") return {.status = 405, .body = "the only method is POST\n"};
  auto body = asked->second(request.body);
  if (!body) return {.status = 400, .body = "not an AdmissionReview of admission.k8s.io/v1\n"};
  return {.status = 200, .content_type = "application/json", .body = *std::move(body)};
}

}  // namespace controllers
