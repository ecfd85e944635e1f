#include "kube/config/proxy_environment.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.hpp"

namespace kube {
namespace {

/// IPv6 address, or IPv4 address as ::ffff:a.b.c.d.
using Address = std::array<unsigned char, 16>;
constexpr unsigned kMappedBits = 96;

struct Variable {
  std::string name;
  std::string value;
};

Variable first_set(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto at = environment.find(name);
    if (at != environment.end() && !at->second.empty()) return {name, at->second};
  }
  return {};
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

std::optional<Address> address_of(const std::string& text) {
  Address address{};
  if (::inet_pton(AF_INET6, text.c_str(), address.data()) == 1) return address;
  address[10] = address[11] = 0xff;
  if (::inet_pton(AF_INET, text.c_str(), address.data() + 12) == 1) return address;
  return std::nullopt;
}

bool is_mapped(const Address& address) {
  return std::all_of(address.begin(), address.begin() + 10, [](unsigned char byte) { return byte == 0; }) &&
         address[10] == 0xff && address[11] == 0xff;
}

bool same_prefix(const Address& a, const Address& b, unsigned bits) {
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned mask = 0x80U >> (bit % 8);
    if ((a[bit / 8] & mask) != (b[bit / 8] & mask)) return false;
  }
  return true;
}

bool is_loopback(const std::string& host, const std::optional<Address>& address) {
  if (!address) return host == "localhost";
  return is_mapped(*address) ? (*address)[12] == 127 : same_prefix(*address, *address_of("::1"), 128);
}

/// Returns true if the CIDR `entry` ("10.0.0.0/8") contains `address`. Returns false if `entry` is not a CIDR.
bool in_network(std::string_view entry, const Address& address) {
  const auto slash = entry.find('/');
  if (slash == std::string_view::npos) return false;
  const auto network = address_of(std::string(entry.substr(0, slash)));
  const auto size = base::parse_number<unsigned>(entry.substr(slash + 1));
  if (!network || !size) return false;
  const unsigned bits = is_mapped(*network) ? *size + kMappedBits : *size;
  return bits <= 128 && same_prefix(*network, address, bits);
}

/// Removes ":8443" or the brackets of "[::1]:8443" from `entry`. Returns 0 if there is no port.
unsigned take_port(std::string& entry) {
  const auto colon = entry.rfind(':');
  const bool bracketed = !entry.empty() && entry.front() == '[';
  const bool has_port =
      colon != std::string::npos && (bracketed ? colon == entry.find(']') + 1 : entry.find(':') == colon);
  unsigned port = 0;
  if (has_port) {
    std::from_chars(entry.data() + colon + 1, entry.data() + entry.size(), port);
    entry.resize(colon);
  }
  if (bracketed && entry.back() == ']') entry = entry.substr(1, entry.size() - 2);
  return port;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

bool excepts_name(std::string entry, const std::string& host) {
  if (entry.rfind("*.", 0) == 0) entry.erase(0, 1);
  if (entry.front() == '.') return ends_with(host, entry);
  return host == entry || ends_with(host, "." + entry);
}

/// Returns true if an entry of NO_PROXY matches the host.
bool excepts(std::string_view text, const std::string& host, const std::optional<Address>& address, unsigned port) {
  std::string entry = lower(trimmed(text));
  if (entry == "*") return true;
  if (address && in_network(entry, *address)) return true;
  const unsigned only = take_port(entry);
  if (entry.empty() || (only != 0 && only != port)) return false;
  if (const auto named = address_of(entry)) return address == named;
  return !address && excepts_name(std::move(entry), host);
}

bool is_excepted(std::string_view list, const std::string& host, unsigned port) {
  const auto address = address_of(host);
  if (is_loopback(host, address)) return true;
  for (std::size_t from = 0; from <= list.size();) {
    const auto to = std::min(list.find(',', from), list.size());
    if (excepts(list.substr(from, to - from), host, address, port)) return true;
    from = to + 1;
  }
  return false;
}

}  // namespace

base::Result<std::string> proxy_from_environment(const Environment& environment, const Url& server) {
  Variable proxy = server.tls ? first_set(environment, {"HTTPS_PROXY", "https_proxy"})
                              : first_set(environment, {"HTTP_PROXY", "http_proxy"});
  if (proxy.value.empty()) return std::string();
  if (is_excepted(first_set(environment, {"NO_PROXY", "no_proxy"}).value, lower(server.host), server.port))
    return std::string();
  if (proxy.value.find("://") == std::string::npos) proxy.value = "http://" + proxy.value;
  if (const auto url = parse_url(proxy.value); url && !url->tls) return std::move(proxy.value);
  return base::Error{base::ErrorCode::kUnsupported,
                     proxy.name + ": only proxies of the form http://host:port are supported; correct it, or exclude " +
                         server.authority() + " with NO_PROXY"};
}

}  // namespace kube
