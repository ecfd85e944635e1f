#pragma once

/// Addresses that the operator's servers listen on.

#include <string>

#include "serving/server.hpp"

namespace controllers {

/// What is wrong with host:port; empty: nothing.
std::string address_problem(const std::string& address);

/// Host and port of a valid address; "localhost" is 127.0.0.1, no host is all addresses.
void set_address(serving::ServerOptions& options, const std::string& address);

/// Only processes of the same machine (or pod) reach it.
bool is_loopback(const std::string& address);

}  // namespace controllers
