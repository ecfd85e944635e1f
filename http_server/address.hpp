#pragma once

/// Addresses on which the operator's servers listen.

#include <string>

#include "http_server/server.hpp"

namespace http_server {

/// Returns what is wrong with a "host:port" address, empty if it is valid.
std::string address_problem(const std::string& address);

/// Options for a small server on a valid address: few concurrent clients, request bodies up to 1 KiB. "localhost" means
/// 127.0.0.1; an empty host means all addresses.
ServerOptions server_options(const std::string& address);

/// Returns true if only processes of the same machine (or pod) can reach the address.
bool is_loopback(const std::string& address);

}  // namespace http_server
