#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controllers/evacuation/ports.hpp"
#include "controllers/operator/services_config.hpp"
#include "kube/transport.hpp"

namespace kube {
class HttpTransport;
}

namespace controllers {

/// Maximum size of a service response, in bytes. A longer response is cut off and counts as lost.
inline constexpr std::size_t kMaxServiceAnswer = std::size_t{1} << 20;

/// Calls the configured services over HTTPS, with one connection pool per service. Does not follow redirects. Reloads
/// token, certificate and CA roots when they are rotated and after a 401. A call takes at most the timeout of its
/// service. Thread-safe.
class HttpServices final : public evacuation::ServiceCaller {
 public:
  /// Authority that allows a service to receive the credentials of its configuration.
  enum class Trust {
    kSecrets,  ///< The Secret from which they are mounted, see kube::may_send_file()
    kCaller,   ///< The user of a command, who passed both the service and its credentials
  };
  /// Opens no connection. REQUIRES: validate(services) returned no error. `clock` must outlive the result.
  static base::Result<std::unique_ptr<HttpServices>> create(const std::vector<ServiceConfig>& services,
                                                            const base::Clock& clock, Trust trust = Trust::kSecrets);
  ~HttpServices() override;

  std::string refusal(const evacuation::ServiceCall& call) const override;
  evictors::CallResult send(const evacuation::ServiceCall& call, const kube::Request& request) override;
  const std::vector<std::string>& names() const override { return names_; }

  /// Makes every current and later call return kCancelled. Idempotent.
  void shut_down();

 private:
  struct Service {
    ServiceConfig config;
    std::unique_ptr<kube::HttpTransport> transport;
  };
  HttpServices() = default;

  std::map<std::string, Service, std::less<>> services_;
  std::vector<std::string> names_;
};

}  // namespace controllers
