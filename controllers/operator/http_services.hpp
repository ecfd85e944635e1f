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

/// Answers of a service beyond this are cut off and count as lost.
inline constexpr std::size_t kMaxServiceAnswer = std::size_t{1} << 20;

/// The configured services over HTTPS, one pool of connections each. Redirects are not followed; token, certificate and
/// roots are read again as they are rotated and after a 401; a call takes at most the service's timeout. Thread-safe.
class HttpServices final : public evacuation::ServiceCaller {
 public:
  /// Who says that a service may be sent the credentials of its configuration.
  enum class Trust {
    kSecrets,  ///< the Secret that they are mounted from: kube::may_send_file()
    kCaller,   ///< the user of a command, who named both
  };
  /// Checks URLs and roots, opens nothing. REQUIRES: validate(services) had no complaint. `clock` must outlive it.
  static base::Result<std::unique_ptr<HttpServices>> create(const std::vector<ServiceConfig>& services,
                                                            const base::Clock& clock, Trust trust = Trust::kSecrets);
  ~HttpServices() override;

  std::string refusal(const evacuation::ServiceCall& call) const override;
  evictors::CallResult send(const evacuation::ServiceCall& call, const kube::Request& request) override;
  const std::vector<std::string>& names() const override { return names_; }

  /// Every running and later call returns kCancelled. Idempotent.
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
