#pragma once

#include <string>

#include "base/result.hpp"
#include "kube/config/process_environment.hpp"
#include "kube/config/url.hpp"

namespace kube {

/// Returns the proxy that the environment sets for `server`, by kubectl's rules, empty for none. Reads HTTPS_PROXY for
/// https and HTTP_PROXY for http, upper case before lower case; a value without scheme is http. NO_PROXY excludes
/// hosts: names with all subdomains, ".name" and "*.name" for subdomains only, addresses, CIDRs, each with or without a
/// port, and "*" for all. localhost and loopback addresses are never proxied. A value that is not
/// http://[user:password@]host:port is an error that names the variable, never its value.
base::Result<std::string> proxy_from_environment(const Environment& environment, const Url& server);

}  // namespace kube
