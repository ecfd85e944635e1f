#include "simulator/api/request_info.hpp"

#include "base/text.hpp"
#include "simulator/text.hpp"

#include <algorithm>

namespace simulator {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::vector<std::string> path_segments(std::string_view path) {
  std::vector<std::string> segments;
  for (std::size_t start = 0; start <= path.size();) {
    const auto slash = std::min(path.find('/', start), path.size());
    if (slash > start) segments.push_back(percent_decode(path.substr(start, slash - start), false));
    start = slash + 1;
  }
  return segments;
}

std::string verb_of(const kube::Request& request, const RequestInfo& info) {
  if (request.method == "GET" || request.method == "HEAD") {
    if (info.query.flag("watch")) return "watch";
    return info.name.empty() ? "list" : "get";
  }
  if (request.method == "POST") return "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH") return "patch";
  if (request.method == "DELETE") return info.name.empty() ? "deletecollection" : "delete";
  std::string verb = request.method;
  std::ranges::transform(verb, verb.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return verb;
}

}  // namespace

std::string percent_decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      decoded += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i] == '+' && plus_is_space ? ' ' : text[i];
    }
  }
  return decoded;
}

Query Query::parse(std::string_view text) {
  Query query;
  for (std::size_t start = 0; start < text.size();) {
    const auto end = std::min(text.find('&', start), text.size());
    const std::string_view pair = text.substr(start, end - start);
    const auto equals = std::min(pair.find('='), pair.size());
    const std::string_view value = equals < pair.size() ? pair.substr(equals + 1) : std::string_view();
    if (!pair.empty())
      query.pairs_.emplace_back(percent_decode(pair.substr(0, equals), true), percent_decode(value, true));
    start = end + 1;
  }
  return query;
}

bool Query::has(std::string_view name) const {
  return std::ranges::any_of(pairs_, [&](const auto& pair) { return pair.first == name; });
}

std::string Query::value(std::string_view name) const {
  const auto found = std::ranges::find_if(pairs_, [&](const auto& pair) { return pair.first == name; });
  return found == pairs_.end() ? std::string() : found->second;
}

bool Query::flag(std::string_view name) const {
  if (!has(name)) return false;
  std::string text = value(name);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text != "0" && text != "false";
}

std::optional<std::int64_t> Query::number(std::string_view name) const {
  return base::parse_number<std::int64_t>(value(name));
}

RequestInfo read_request(const kube::Request& request) {
  RequestInfo info;
  info.query = Query::parse(request.query);
  info.segments = path_segments(request.path);
  std::vector<std::string> rest = info.segments;
  const auto drop_first = [&rest](std::size_t n) {
    rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(n));
  };
  if (rest.size() >= 3 && rest[0] == "api") {
    info.version = rest[1];
    drop_first(2);
  } else if (rest.size() >= 4 && rest[0] == "apis") {
    info.group = rest[1];
    info.version = rest[2];
    drop_first(3);
  } else {
    info.verb = verb_of(request, info);
    return info;
  }
  info.is_resource = true;
  const bool inside_namespace =
      rest[0] == "namespaces" && rest.size() >= 3 && rest[2] != "status" && rest[2] != "finalize";
  if (inside_namespace) {
    info.ns = rest[1];
    drop_first(2);
  }
  info.plural = rest[0];
  if (rest.size() > 1) info.name = rest[1];
  if (rest.size() > 2) info.subresource = rest[2];
  const bool path_follows = info.subresource == "proxy";  // the rest is a path on the proxied server
  for (std::size_t i = 3; i < rest.size() && !path_follows; ++i)
    info.subresource += "/" + rest[i];  // such as KubeVirt's evacuate/cancel
  info.verb = verb_of(request, info);
  return info;
}

}  // namespace simulator
