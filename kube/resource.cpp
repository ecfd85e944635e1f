#include "kube/resource.hpp"

#include "kube/escape.hpp"

namespace kube {

std::string ResourceType::api_version() const {
  std::string text(group);
  if (!text.empty()) text += '/';
  return text.append(version);
}

std::string path_of(const ResourceType& type, const api::ObjectKey& key, std::string_view subresource) {
  std::string path = type.group.empty() ? "/api/" : "/apis/";
  path += type.api_version();
  if (type.namespaced && !key.ns.empty()) path.append("/namespaces/").append(escape_segment(key.ns));
  path.append("/").append(type.plural);
  if (!key.name.empty()) path.append("/").append(escape_segment(key.name));
  if (!subresource.empty()) path.append("/").append(escape_segment(subresource));
  return path;
}

}  // namespace kube
