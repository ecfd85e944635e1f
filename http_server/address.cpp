#include "http_server/address.hpp"

#include <fmt/format.h>

namespace http_server {

std::string address_problem(const std::string& address) {
  if (http_server::split_address(address)) return {};
  return fmt::format("\"{}\" is not host:port, such as 0.0.0.0:8081", address);
}

ServerOptions server_options(const std::string& address) {
  ServerOptions options;
  options.handler_threads = 2;
  options.max_connections = 64;
  options.max_body_bytes = 1024;
  const auto split = http_server::split_address(address);
  if (!split) return options;
  options.address = split->first == "localhost" ? "127.0.0.1" : split->first;
  options.port = split->second;
  return options;
}

bool is_loopback(const std::string& address) {
  const auto split = http_server::split_address(address);
  if (!split) return false;
  const std::string& host = split->first;
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace http_server
