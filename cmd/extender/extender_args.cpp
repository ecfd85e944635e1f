#include "cmd/extender/extender_args.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "api/core/codec.hpp"
#include "api/json/json_access.hpp"

namespace extender {
namespace {

using api::Json;

constexpr std::size_t kMaxName = 253;

/// Returns the member under either name, nullptr if it is absent or null.
const Json* member(const Json& object, const char* name, const char* older) {
  for (const char* each : {name, older}) {
    const auto at = object.find(each);
    if (at != object.end() && !at->is_null()) return &*at;
  }
  return nullptr;
}

base::Status add_name(std::string name, std::vector<std::string>& names, std::unordered_set<std::string>& seen) {
  if (name.empty() || name.size() > kMaxName) return base::invalid("a node's name is missing or too long");
  if (names.size() >= kMaxNodes) return base::invalid(fmt::format("more than {} nodes", kMaxNodes));
  if (!seen.insert(name).second) return base::invalid("a node is listed twice");
  names.push_back(std::move(name));
  return base::Done{};
}

base::Status read_names(const Json& list, std::vector<std::string>& names) {
  if (!list.is_array()) return base::invalid("NodeNames must be a list");
  std::unordered_set<std::string> seen;
  for (const Json& each : list) {
    if (!each.is_string()) return base::invalid("NodeNames must contain only strings");
    if (auto added = add_name(each.get<std::string>(), names, seen); !added) return added;
  }
  return base::Done{};
}

base::Status read_objects(const Json& items, std::vector<std::string>& names) {
  std::unordered_set<std::string> seen;
  for (const Json& each : items) {
    if (auto added = add_name(api::text_at(each, {"metadata", "name"}), names, seen); !added) return added;
  }
  return base::Done{};
}

base::Status read_nodes(Json& root, ExtenderArgs& args) {
  if (const Json* names = member(root, "NodeNames", "nodenames")) return read_names(*names, args.nodes);
  const char* const key = root.contains("Nodes") ? "Nodes" : "nodes";
  const auto list = root.find(key);
  if (list == root.end() || !list->is_object()) return base::invalid("neither NodeNames nor Nodes");
  const auto items = list->find("items");
  if (items == list->end() || !items->is_array()) return base::invalid("Nodes has no items");
  if (auto read = read_objects(*items, args.nodes); !read) return read;
  args.has_objects = true;
  args.objects = std::move(*items);
  return base::Done{};
}

/// Appends a quoted string. Valid node names need no escaping; other text is escaped.
void append_quoted(const std::string& name, std::string& text) {
  const bool is_plain =
      std::ranges::all_of(name, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '"' && c != '\\'; });
  text += is_plain ? '"' + name + '"' : api::to_json_text(name);
}

/// Encodes the passing nodes as a list of names, or of the objects received.
std::string nodes_that_pass(const ExtenderArgs& args, const std::vector<std::string>& reasons) {
  std::string text = "[";
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (!reasons[i].empty()) continue;
    if (text.size() > 1) text += ',';
    if (args.has_objects) {
      text += api::to_json_text(args.objects[i]);
    } else {
      append_quoted(args.nodes[i], text);
    }
  }
  return text + "]";
}

}  // namespace

base::Result<ExtenderArgs> parse_args(std::string_view body) {
  auto root = api::parse_json(body);
  if (!root) return root.error();
  if (!root->is_object()) return base::invalid("ExtenderArgs must be an object");
  const Json* const pod = member(*root, "Pod", "pod");
  if (pod == nullptr || !pod->is_object()) return base::invalid("Pod is missing");
  ExtenderArgs args;
  auto decoded = api::decode_pod(api::to_json_text(*pod));
  if (!decoded) return decoded.error().during("Pod");
  args.pod = *std::move(decoded);
  if (auto read = read_nodes(*root, args); !read) return read.error();
  return args;
}

std::string filter_answer(const ExtenderArgs& args, const std::vector<std::string>& reasons, bool is_final) {
  Json failed = Json::object();
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (!reasons[i].empty()) failed[args.nodes[i]] = reasons[i];
  }
  const std::string passing = nodes_that_pass(args, reasons);
  const std::string failing = api::to_json_text(failed);
  const std::string rest = R"("FailedNodes":)" + failing +
                           (is_final ? R"(,"FailedAndUnresolvableNodes":)" + failing : std::string()) +
                           R"(,"Error":""})";
  if (!args.has_objects) return R"({"Nodes":null,"NodeNames":)" + passing + "," + rest;
  return R"({"Nodes":{"apiVersion":"v1","kind":"NodeList","metadata":{},"items":)" + passing +
         R"(},"NodeNames":null,)" + rest;
}

std::string priorities_answer(const std::vector<std::string>& nodes, const std::vector<std::int32_t>& scores) {
  std::string text = "[";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    text += i == 0 ? R"({"Host":)" : R"(,{"Host":)";
    append_quoted(nodes[i], text);
    text += R"(,"Score":)" + std::to_string(scores[i]) + "}";
  }
  return text + "]";
}

}  // namespace extender
