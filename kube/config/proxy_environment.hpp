#pragma once

#include <string>

#include "base/result.hpp"
#include "kube/config/process_environment.hpp"
#include "kube/config/url.hpp"

namespace kube {

/// The proxy that the environment names for `server`, as kubectl reads it; empty: none. HTTPS_PROXY for https,
/// HTTP_PROXY for http, each also in lower case, the upper case first; a value without a scheme is http. NO_PROXY
/// excepts hosts: names with all their sub-domains, ".name" and "*.name" for the sub-domains alone, addresses, CIDRs,
/// each with a port or without, and "*" for all. localhost and loopback addresses are never proxied. What is no proxy
/// of the form http://[user:password@]host:port is an error that names the variable, never its value.
base::Result<std::string> proxy_from_environment(const Environment& environment, const Url& server);

}  // namespace kube
