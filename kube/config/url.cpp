#include "kube/config/url.hpp"

#include <optional>

#include "base/text.hpp"

namespace kube {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
    out += escape ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return out;
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

bool is_ipv6_character(char c) { return hex_digit(c) >= 0 || c == ':' || c == '.'; }

/// Removes "host" or "[v6]" from the front and returns it, empty if none exists.
std::string take_host(std::string_view& text) {
  if (!text.empty() && text.front() == '[') {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return {};
    std::string host(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
    for (const char c : host) {
      if (!is_ipv6_character(c)) return {};
    }
    return host.find(':') == std::string::npos ? std::string() : host;
  }
  std::size_t length = 0;
  while (length < text.size() && is_host_character(text[length])) ++length;
  std::string host(text.substr(0, length));
  text.remove_prefix(length);
  return host;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = base::parse_number<std::uint16_t>(text);
  return port == 0 ? std::nullopt : port;
}

}  // namespace

bool Url::is_loopback() const {
  const bool is_number = host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || host == "::1" || (is_number && host.starts_with("127."));
}

std::string Url::authority() const {
  std::string text = is_ipv6() ? "[" + host + "]" : host;
  if (port != (tls ? 443 : 80)) text += ":" + std::to_string(port);
  return text;
}

base::Result<Url> parse_url(std::string_view text) {
  Url url;
  if (const auto scheme = text.find("://"); scheme != std::string_view::npos) {
    const std::string_view name = text.substr(0, scheme);
    if (name != "http" && name != "https")
      return base::invalid("the URL's scheme must be http or https, not \"" + std::string(name.substr(0, 20)) + "\"");
    url.tls = name == "https";
    text.remove_prefix(scheme + 3);
  }
  const auto path_at = text.find_first_of("/?#");
  std::string_view authority = text.substr(0, path_at);
  std::string_view path = path_at == std::string_view::npos ? std::string_view() : text.substr(path_at);
  if (path.find_first_of("?# \r\n\t") != std::string_view::npos)
    return base::invalid("the URL must not contain a query, fragment or blank");
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    url.user_info = percent_decode(authority.substr(0, at));
    authority.remove_prefix(at + 1);
  }
  url.host = take_host(authority);
  if (url.host.empty()) return base::invalid("the URL has no valid host; it should look like https://10.0.0.1:6443");
  url.port = url.tls ? 443 : 80;
  if (!authority.empty()) {
    const auto port = authority.front() == ':' ? parse_port(authority.substr(1)) : std::nullopt;
    if (!port) return base::invalid("the URL's port must be a number from 1 to 65535");
    url.port = *port;
  }
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  url.path = path;
  return url;
}

}  // namespace kube
