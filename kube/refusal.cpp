#include "kube/refusal.hpp"

#include <fmt/format.h>

namespace kube {

std::string explain_refusal(int status, const ServerSettings& settings) {
  const auto& [url, credentials] = settings;
  if (status >= 300 && status < 400) return "it redirects, which is not followed: use the address that it leads to";
  switch (status) {
    case 401: return fmt::format("the credentials are missing, wrong or expired: check {}", credentials);
    case 403:
      return fmt::format("these credentials may not ask that: check {} and what the server grants them", credentials);
    case 404: return "there is nothing at this address: does the URL lack a prefix?";
    case 405: return fmt::format("it does not take this method at this address: check the path of {}", url);
    case 406:
      return fmt::format("it does not offer the content type that is asked for: check that {} is the right server",
                         url);
    case 407: return fmt::format("a proxy before it asks for credentials: check {} and the proxy", url);
    case 408:
    case 425: return "it did not accept the request; it is retried";
    case 413: return "the request is too large for it: raise its limit of bodies";
    case 415:
      return fmt::format("it does not take the content type that was sent: check that {} is the right server", url);
    case 421: return fmt::format("it does not serve this host name: check the host of {}", url);
    case 429: return "it is asked too often";
    default: break;
  }
  if (status >= 500) return "it, or a server behind it, does not work now";
  return "it does not accept the request";
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
