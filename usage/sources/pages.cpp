#include "usage/sources/pages.hpp"

#include <fmt/format.h>

#include "kube/request.hpp"

namespace usage {
namespace {

constexpr int kPageSize = 1000;
constexpr int kMaxPages = 2000;

base::Result<std::string> ask(kube::Client& client, const kube::ResourceType& type, const std::string& token) {
  kube::ListOptions options;
  options.limit = kPageSize;
  options.continue_token = token;
  const std::string what = fmt::format("listing {}.{}", type.plural, type.group);
  auto response = client.send(kube::list_request(type, options));
  if (!response) return std::move(response).error().during(what);
  if (response->status == 404)
    return base::unavailable(
        fmt::format("{}: {} is not served; is the component that serves it installed?", what, type.api_version()));
  const int status = response->status;
  auto fine = kube::classify(*std::move(response));
  if (!fine && status == 403)
    return base::Error{
        fine.error().code,
        fmt::format("{}: {} (config/optional/usage-{}.yaml grants the permission)", what, fine.error().message,
                    type.group == "metrics.k8s.io" ? "metrics-server" : "koordinator")};
  if (!fine && (status == 406 || status == 415))
    return base::unavailable(fmt::format("{}: {} (the APIService v1beta1.{} does not point to a server of this API)",
                                         what, fine.error().message, type.api_version()));
  if (!fine) return std::move(fine).error().during(what);
  return std::move(fine->body);
}

}  // namespace

base::Status read_pages(kube::Client& client, const kube::ResourceType& type,
                        const std::function<base::Result<std::string>(std::string& page)>& read) {
  std::string token;
  for (int pages = 0; pages < kMaxPages; ++pages) {
    auto page = ask(client, type, token);
    if (!page) return std::move(page).error();
    auto next = read(*page);
    if (!next) return std::move(next).error().during(fmt::format("listing {}.{}", type.plural, type.group));
    if (next->empty()) return base::Done{};
    if (*next == token) break;
    token = *std::move(next);
  }
  return base::unavailable(
      fmt::format("listing {}.{}: the server repeats pages indefinitely", type.plural, type.group));
}

}  // namespace usage
