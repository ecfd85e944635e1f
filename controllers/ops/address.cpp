#include "controllers/ops/address.hpp"

#include <fmt/format.h>

namespace controllers {

std::string address_problem(const std::string& address) {
  if (serving::split_address(address)) return {};
  return fmt::format("\"{}\" is not host:port, such as 0.0.0.0:8081", address);
}

void set_address(serving::ServerOptions& options, const std::string& address) {
  const auto split = serving::split_address(address);
  if (!split) return;
  options.address = split->first == "localhost" ? "127.0.0.1" : split->first;
  options.port = split->second;
}

bool is_loopback(const std::string& address) {
  const auto split = serving::split_address(address);
  if (!split) return false;
  const std::string& host = split->first;
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace controllers
