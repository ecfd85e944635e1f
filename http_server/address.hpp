#pragma once

/// Addresses that the operator's servers listen on.

#include <string>

#include "http_server/server.hpp"

namespace controllers {

/// What is wrong with host:port; empty: nothing.
std::string address_problem(const std::string& address);

/// A small server on a valid address: requests have no bodies, and few ask at once. "localhost" is 127.0.0.1, no host
/// is all addresses.
serving::ServerOptions server_options(const std::string& address);

/// Only processes of the same machine (or pod) reach it.
bool is_loopback(const std::string& address);

}  // namespace controllers
