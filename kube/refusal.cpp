#include "kube/refusal.hpp"

#include <fmt/format.h>

namespace kube {

std::string explain_refusal(int status, const ServerSettings& settings) {
  const auto& [url, credentials] = settings;
  if (status >= 300 && status < 400) return "it redirects, which is not supported: use the redirect target";
  switch (status) {
    case 401: return fmt::format("the credentials are missing, wrong or expired: check {}", credentials);
    case 403:
      return fmt::format("the credentials do not allow this request: check {} and its permissions on the server",
                         credentials);
    case 404: return "the address does not exist: does the URL lack a prefix?";
    case 405: return fmt::format("the address does not support this method: check the path of {}", url);
    case 406:
      return fmt::format("it does not offer the requested content type: check that {} is the correct server", url);
    case 407: return fmt::format("a proxy in front of it requires credentials: check {} and the proxy", url);
    case 408:
    case 425: return "it timed out; the request is retried";
    case 413: return "the request is too large: raise the maximum body size of the server";
    case 415:
      return fmt::format("it does not accept the content type of the request: check that {} is the correct server",
                         url);
    case 421: return fmt::format("it does not serve this host name: check the host of {}", url);
    case 429: return "it receives too many requests";
    default: break;
  }
  if (status >= 500) return "it, or a server behind it, is unavailable";
  return "it rejects the request";
}

bool names_a_setting(int status) {
  switch (status) {
    case 401:
    case 403:
    case 405:
    case 406:
    case 407:
    case 415:
    case 421: return true;
    default: return status >= 300 && status < 400;
  }
}

}  // namespace kube
