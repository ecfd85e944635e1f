#include "kube/config/credential_scope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <vector>

#include "kube/config/files.hpp"
#include "kube/config/url.hpp"

namespace kube {
namespace {

constexpr std::string_view kSeparators = " \t\r\n,";

/// Returns "https://host:443": scheme, host in lower case, and always the port.
std::string origin_of(bool tls, std::string host, int port) {
  std::ranges::transform(host, host.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return fmt::format("{}://{}:{}", tls ? "https" : "http",
                     host.find(':') == std::string::npos ? host : "[" + host + "]", port);
}

/// Returns one entry in the form of origin_of(), nullopt if it is not scheme://host[:port].
std::optional<std::string> parse_entry(std::string_view entry) {
  const auto url =
      entry.find("://") == std::string_view::npos ? base::Result<Url>(base::invalid("no scheme")) : parse_url(entry);
  if (!url || !url->path.empty() || !url->user_info.empty()) return std::nullopt;
  return origin_of(url->tls, url->host, url->port);
}

base::Result<std::vector<std::string>> parse_servers(std::string_view text, std::string_view holder) {
  std::vector<std::string> servers;
  for (std::size_t at = text.find_first_not_of(kSeparators); at != std::string_view::npos;
       at = text.find_first_not_of(kSeparators, at)) {
    const std::size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    auto server = parse_entry(text.substr(at, end - at));
    if (!server)
      return base::invalid(
          fmt::format("{}: entry {} of its key \"{}\" must be scheme://host[:port], such as "
                      "https://prometheus.monitoring:9090",
                      holder, servers.size() + 1, kServersKey));
    servers.push_back(*std::move(server));
    at = end;
  }
  return servers;
}

base::Error refused(std::string_view holder, bool has_key, const std::string& wanted, std::string_view why) {
  if (!has_key)
    return base::invalid(fmt::format(
        "{} does not contain the servers that its credentials are for: add the key \"{}\" with the value {}{}", holder,
        kServersKey, wanted, why));
  return base::invalid(
      fmt::format("{} is not for this server: its key \"{}\" does not list {}{}", holder, kServersKey, wanted, why));
}

}  // namespace

base::Status may_send_credentials(const std::optional<std::string>& servers, const CredentialTarget& target,
                                  std::string_view holder) {
  const auto url = parse_url(target.url);
  if (!url) return url.error();
  const auto listed = parse_servers(servers.value_or(""), holder);
  if (!listed) return listed.error();
  const bool is_safe = url->tls && target.is_verified;
  const std::string_view why = is_safe    ? ""
                               : url->tls ? " (http, because any certificate is accepted: insecureSkipVerify)"
                                          : " (http does not protect credentials: prefer https)";
  std::vector<std::string> wanted = {origin_of(is_safe, url->host, url->port)};
  if (is_safe && !target.server_name.empty()) wanted.push_back(origin_of(true, target.server_name, url->port));
  for (const std::string& each : wanted) {
    if (std::ranges::find(*listed, each) == listed->end()) return refused(holder, !listed->empty(), each, why);
  }
  return base::Done{};
}

base::Status may_send_file(const std::string& file, const CredentialTarget& target) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  auto servers = read_file(folder + "/" + std::string(kServersKey));
  const std::string holder = fmt::format("the Secret at {}", folder);
  if (!servers && !base::is_not_found(servers.error())) return std::move(servers).error().during(holder);
  return may_send_credentials(servers ? std::optional(*std::move(servers)) : std::nullopt, target, holder);
}

}  // namespace kube
