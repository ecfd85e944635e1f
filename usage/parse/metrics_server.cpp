#include "usage/parse/metrics_server.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "usage/parse/document.hpp"

namespace usage {
namespace {

using wire::members;
using wire::on;
using wire::read_members;

/// Lower bound of an item's size, to reserve enough rows for a list in one page. Close to the real size, so that little
/// memory is wasted.
constexpr std::size_t kMinItemBytes = 250;

using Usage = std::array<double, kMetricsWidth>;

wire::error_code read_quantity_at(wire::Value& value, double& target, InvalidCounts& oddities) {
  std::string_view text;
  const auto error = read_view(value, text);
  if (!error) target = read_quantity(text, oddities);  // a value that is not a string reads as an empty text
  return error;
}

/// Returns a reader of {cpu, memory}.
auto usage_reader(Usage& usage, InvalidCounts& oddities) {
  return members(on("cpu", [&](auto& value) { return read_quantity_at(value, usage[0], oddities); }),
                 on("memory", [&](auto& value) { return read_quantity_at(value, usage[1], oddities); }));
}

/// Sums the containers. One kUnknown makes the sum kUnknown.
wire::error_code read_containers(wire::Value& value, Usage& sum, InvalidCounts& oddities) {
  bool any = false;
  Usage total = {0, 0};
  const auto error = wire::for_elements(value, [&](wire::Value& container) {
    Usage usage = {kUnknown, kUnknown};
    const auto failed = read_members(container, on("usage", usage_reader(usage, oddities)));
    for (std::size_t i = 0; i < kMetricsWidth; ++i) total[i] += usage[i];
    any = true;
    return failed;
  });
  if (any) sum = total;
  return error;
}

/// Caches the last timestamp, because all nodes are scraped together and most timestamps repeat.
class TimeReader {
 public:
  wire::error_code read(wire::Value& value, base::TimePoint& target) {
    std::string_view text;
    const auto error = read_view(value, text);
    if (error) return error;
    if (text != text_) {
      text_ = text;
      time_ = base::parse_time(text).value_or(base::TimePoint{});
    }
    target = time_;
    return error;
  }

 private:
  std::string text_;
  base::TimePoint time_{};
};

/// Caches the last window, because most windows repeat.
class WindowReader {
 public:
  wire::error_code read(wire::Value& value, base::Duration& longest) {
    std::string_view text;
    const auto error = read_view(value, text);
    if (error || text == text_) return error;
    text_ = text;
    const auto window = base::parse_duration(text).value_or(base::Duration{});
    if (window <= kMaxWindow) longest = std::max(longest, window);
    return error;
  }

 private:
  static constexpr base::Duration kMaxWindow = std::chrono::hours(1);
  std::string text_;
};

struct Item {
  std::string_view ns;
  std::string_view name;
  base::TimePoint time{};
  Usage usage = {kUnknown, kUnknown};
};

/// Reads an item's names and time, and with `usage` its other members.
template <typename Reader>
wire::error_code read_item(wire::Value& value, Item& item, TimeReader& times, const Reader& usage) {
  const auto metadata = members(on("name", [&](auto& text) { return read_view(text, item.name); }),
                                on("namespace", [&](auto& text) { return read_view(text, item.ns); }));
  return wire::for_members(value, [&](std::string_view key, wire::Value& member) {
    if (key == "timestamp") return times.read(member, item.time);
    return key == "metadata" ? metadata(member) : usage.read_member(key, member);
  });
}

base::Result<std::string> read_list(std::string& page, Rows& rows, bool has_namespaces) {
  TimeReader times;
  WindowReader windows;
  if (page.size() > kPageBytes) rows.reserve(page.size() / kMinItemBytes);
  return read_list_page(page, [&](wire::Value& value) {
    Item item;
    const auto usage = members(
        on("usage", usage_reader(item.usage, rows.oddities)),
        on("containers", [&](auto& list) { return read_containers(list, item.usage, rows.oddities); }),
        // Only for nodes. Pods have many windows, which are not needed.
        on("window",
           [&](auto& window) { return has_namespaces ? simdjson::SUCCESS : windows.read(window, rows.window); }));
    if (const auto error = read_item(value, item, times, usage)) return error;
    if (item.name.empty() || item.ns.empty() == has_namespaces) {
      ++rows.oddities.nameless;
      return simdjson::SUCCESS;
    }
    const std::size_t at = rows.add(item.ns, item.name, item.time);
    rows.values[at] = item.usage[0];
    rows.values[at + 1] = item.usage[1];
    return simdjson::SUCCESS;
  });
}

struct NamedUsage {
  std::string_view name;
  Usage usage = {kUnknown, kUnknown};
};

wire::error_code read_named_containers(wire::Value& value, std::vector<NamedUsage>& containers,
                                       InvalidCounts& oddities) {
  return wire::for_elements(value, [&](wire::Value& container) {
    NamedUsage read;
    const auto failed = read_members(container, on("name", [&](auto& text) { return read_view(text, read.name); }),
                                     on("usage", usage_reader(read.usage, oddities)));
    if (read.name.empty() || containers.size() >= kMaxContainersOfPod) {
      ++oddities.nameless;
    } else {
      containers.push_back(read);
    }
    return failed;
  });
}

}  // namespace

base::Result<std::string> read_node_metrics(std::string& page, Rows& rows) { return read_list(page, rows, false); }

base::Result<std::string> read_pod_metrics(std::string& page, Rows& rows) { return read_list(page, rows, true); }

base::Result<std::string> read_container_metrics(std::string& page, const EachContainer& each,
                                                 InvalidCounts& oddities) {
  TimeReader times;
  std::vector<NamedUsage> containers;
  return read_list_page(page, [&](wire::Value& value) {
    Item item;
    containers.clear();
    const auto read_containers = [&](auto& list) { return read_named_containers(list, containers, oddities); };
    if (const auto error = read_item(value, item, times, members(on("containers", read_containers)))) return error;
    if (item.name.empty() || item.ns.empty()) {
      ++oddities.nameless;
      return simdjson::SUCCESS;
    }
    for (const NamedUsage& one : containers)
      each({item.ns, item.name, one.name, item.time, one.usage[0], one.usage[1]});
    return simdjson::SUCCESS;
  });
}

}  // namespace usage
