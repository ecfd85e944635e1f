#include "usage/parse/prometheus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "usage/parse/document.hpp"
#include "usage/parse/plain_vector.hpp"

namespace usage {
namespace {

using wire::members;
using wire::on;
using wire::read_members;

constexpr std::size_t kShownText = 200;
constexpr std::size_t kMaxWarnings = 3;
constexpr std::size_t kMaxHead = 4096;  ///< maximum position of the result in a plain answer
/// Lower bound of a series' size, to reserve enough rows for a large answer. Close to the real size, so that little
/// memory is wasted.
constexpr std::size_t kMinSeriesBytes = 80;
/// Lower bound of a point's size: [1763726400,"7"],
constexpr std::size_t kMinPointBytes = 17;
/// Maximum timestamp. Beyond it a double has no microseconds and the calendar no year.
constexpr double kLatestSecond = 253402300799.0;  // end of the year 9999

/// Truncates the text, with an ellipsis if needed.
std::string shown(std::string_view text) {
  std::string begin = base::truncate_utf8(text, kShownText);
  return base::truncate_utf8(text, kShownText + 4).size() > begin.size() ? begin + "…" : begin;
}

/// Relevant labels of one series. Views into the parser's buffer.
struct Labels {
  std::string_view wanted;  ///< the label that the query sets
  std::string_view node;
  std::string_view instance;
  std::string_view ns;
  std::string_view pod;
};

/// One [time, value].
struct Point {
  base::TimePoint time{};
  std::optional<std::string_view> text;
};

/// One element of data.result.
struct Element {
  Labels labels;
  std::optional<Point> value;
};

/// Parts of an answer other than the result.
struct Envelope {
  std::string status;
  std::string type;
  std::string error_type;
  std::string error;
  PrometheusNotes notes;
  bool too_many = false;
  const char* result = nullptr;  ///< start of data.result
};

std::string_view or_default(const std::string& name, std::string_view otherwise) {
  return name.empty() ? otherwise : std::string_view(name);
}

/// Returns the target for the label's value, nullptr if the label is not needed.
std::string_view* place_of(std::string_view key, const api::UsageQuery& query, Labels& labels) {
  if (!query.node_label.empty() && key == query.node_label) return &labels.wanted;
  if (key == or_default(query.namespace_label, "namespace")) return &labels.ns;
  if (key == or_default(query.pod_label, "pod")) return &labels.pod;
  if (key == "node") return &labels.node;
  return key == "instance" ? &labels.instance : nullptr;
}

wire::error_code read_labels(wire::Value& value, const api::UsageQuery& query, Labels& labels) {
  return wire::for_members(value, [&](std::string_view key, wire::Value& member) {
    std::string_view* const target = place_of(key, query, labels);
    return target == nullptr ? simdjson::SUCCESS : read_view(member, *target);
  });
}

base::TimePoint time_of(double seconds) {
  if (!(seconds > 0) || seconds > kLatestSecond) return {};
  return base::TimePoint(base::Duration(std::llround(seconds * 1e6)));
}

/// Caches the last time, because all samples of a vector have the same evaluation time.
class TimeMemory {
 public:
  base::TimePoint time_of(std::string_view seconds) {
    if (seconds == text_) return time_;
    double value = 0;
    std::from_chars(seconds.data(), seconds.data() + seconds.size(), value);
    text_ = seconds;
    return time_ = usage::time_of(value);
  }

 private:
  std::string_view text_;
  base::TimePoint time_{};
};

wire::error_code read_point(wire::Value& value, Point& point) {
  std::size_t index = 0;
  return wire::for_elements(value, [&](wire::Value& part) {
    if (index++ == 0) {
      double seconds = 0;
      const auto error = part.get_double().get(seconds);
      if (!error) point.time = time_of(seconds);
      return wire::unless_about_value(error);
    }
    std::string_view text;
    const auto error = read_view(part, text);
    if (!error && text.data() != nullptr) point.text = text;
    return error;
  });
}

wire::error_code read_warnings(wire::Value& value, std::vector<std::string>& warnings) {
  return wire::for_elements(value, [&](wire::Value& item) {
    std::string_view text;
    const auto error = item.get_string().get(text);
    if (!error && warnings.size() < kMaxWarnings) warnings.push_back(shown(text));
    return wire::unless_about_value(error);
  });
}

wire::error_code read_short(wire::Value& value, std::string& target) {
  std::string_view text;
  const auto error = value.get_string().get(text);
  if (!error) target = shown(text);
  return wire::unless_about_value(error);
}

/// Walks an answer and calls each(element) for each element of data.result.
template <typename F>
base::Status walk(std::string& answer, Envelope& envelope, F&& each) {
  const auto short_text = [](std::string& target) {
    return [&target](wire::Value& value) { return read_short(value, target); };
  };
  const auto read_result = [&](wire::Value& value) {
    envelope.result = value.raw_json_token().data();
    return wire::for_elements(value, each);
  };
  return read_in_place(
      answer, members(on("status", short_text(envelope.status)), on("errorType", short_text(envelope.error_type)),
                      on("error", short_text(envelope.error)),
                      on("warnings", [&](auto& list) { return read_warnings(list, envelope.notes.warnings); }),
                      on("data", members(on("resultType", short_text(envelope.type)), on("result", read_result)))));
}

base::ErrorCode code_of_type(std::string_view type) {
  return type == "bad_data" || type == "execution" || type == "not_acceptable" ? base::ErrorCode::kInvalid
                                                                               : base::ErrorCode::kUnavailable;
}

std::string_view advice_for(std::string_view type) {
  if (type == "scalar") return "a scalar has no node: leave out scalar(), or aggregate by (node)";
  if (type == "string") return "a string is not a number";
  if (type == "matrix") return "it is a range of samples: wrap it in rate() or avg_over_time()";
  return "the query must return a number for each node or pod";
}

/// Checks the envelope of a JSON answer. `expected` is the type of the result.
base::Status check(const Envelope& envelope, std::string_view expected, std::size_t most) {
  if (envelope.too_many)
    return base::invalid(
        fmt::format("too many series (more than {}): aggregate by node or by namespace and pod", most));
  if (envelope.status == "error")
    return base::Error{code_of_type(envelope.error_type),
                       fmt::format("the server reports {}: {}", envelope.error_type, envelope.error)};
  if (envelope.status != "success") return base::invalid("the response is not from the Prometheus API: no status");
  if (envelope.type == expected) return base::Done{};
  if (envelope.type.empty()) return base::invalid("the response has no resultType");
  return base::invalid(fmt::format("the result is a {}, not a {}: {}", envelope.type, expected,
                                   expected == "vector" ? advice_for(envelope.type) : advice_for("")));
}

/// Returns the result of a walk. too_many takes precedence over the parser's error, because it stopped the parser.
base::Status outcome(const base::Status& walked, const Envelope& envelope, std::string_view expected,
                     std::size_t most) {
  if (!walked && !envelope.too_many) return walked;
  return check(envelope, expected, most);
}

std::string_view node_of(const Labels& labels, const api::UsageQuery& query) {
  if (!query.node_label.empty()) return query.node_label == "instance" ? without_port(labels.wanted) : labels.wanted;
  return labels.node.empty() ? without_port(labels.instance) : labels.node;
}

double scaled(double value, api::UsageUnit unit) { return unit == api::UsageUnit::kFraction ? value * 100 : value; }

double value_of(const Point& point, const api::UsageQuery& query, InvalidCounts& oddities) {
  if (!point.text) return ++oddities.unreadable, kUnknown;
  return scaled(read_number(*point.text, oddities), query.unit);
}

std::size_t most_series(const api::UsageQuery& query) {
  return query.of == api::UsageOf::kNode ? kMaxNodeSeries : kMaxPodSeries;
}

void add_row(const Element& element, const api::UsageQuery& query, Rows& rows) {
  const bool is_node = query.of == api::UsageOf::kNode;
  const std::string_view name = is_node ? node_of(element.labels, query) : element.labels.pod;
  const std::string_view ns = is_node ? std::string_view() : element.labels.ns;
  if (name.empty() || (!is_node && ns.empty())) {
    ++rows.oddities.nameless;
    return;
  }
  const Point point = element.value.value_or(Point{});
  const std::size_t at = rows.add(ns, name, point.time);
  rows.values[at] = value_of(point, query, rows.oddities);
}

/// Points of one series, stored until its labels are known.
using Points = std::vector<std::pair<base::TimePoint, float>>;

wire::error_code read_points(wire::Value& value, const api::UsageQuery& query, Points& points) {
  InvalidCounts ignored;
  return wire::for_elements(value, [&](wire::Value& item) {
    Point point;
    if (const auto error = read_point(item, point)) return error;
    if (points.size() < kMaxPoints)
      points.emplace_back(point.time, static_cast<float>(value_of(point, query, ignored)));
    return simdjson::SUCCESS;
  });
}

std::optional<std::size_t> place_on(const Grid& grid, base::TimePoint time) {
  const base::Duration since = time - grid.start;
  const auto nearest = (since + grid.step / 2) / grid.step;
  if (since < -grid.step / 2 || nearest < 0 || static_cast<std::size_t>(nearest) >= grid.points) return std::nullopt;
  return static_cast<std::size_t>(nearest);
}

/// Points of each node that this answer has already set.
using Filled = std::map<std::string, std::vector<bool>, std::less<>>;

void add_points(std::string_view node, const Points& points, const Grid& grid, GridSeries& series, Filled& filled) {
  auto target = series.find(node);
  if (target == series.end())
    target = series.emplace(node, std::vector<float>(grid.points, std::numeric_limits<float>::quiet_NaN())).first;
  auto seen = filled.find(node);
  if (seen == filled.end()) seen = filled.emplace(node, std::vector<bool>(grid.points)).first;
  for (const auto& [time, value] : points) {
    const auto at = place_on(grid, time);
    if (!at || *at >= target->second.size()) continue;
    target->second[*at] = seen->second[*at] ? std::numeric_limits<float>::quiet_NaN() : value;
    seen->second[*at] = true;
  }
}

struct PlainRead {
  std::size_t begin = 0;  ///< start of the array in the answer
  std::string around;     ///< the answer with an empty array instead
};

/// Returns the start of data.result if the answer has Prometheus' plain form, else nullopt.
std::optional<std::size_t> plain_array_of(const std::string& answer) {
  constexpr std::string_view kResult = R"("result":)";
  const std::size_t key = std::string_view(answer).substr(0, kMaxHead).find(kResult);
  if (key == std::string_view::npos || !simdjson::validate_utf8(answer)) return std::nullopt;
  return key + kResult.size();
}
PlainRead rest_of(const std::string& answer, std::size_t begin, const PlainVector& vector) {
  return {begin, fmt::format("{}[]{}", std::string_view(answer).substr(0, begin), vector.rest())};
}

/// Returns true if the text around the array is a valid answer of that type, with the array as data.result.
bool check_envelope(PlainRead& read, Envelope& envelope, std::string_view type, std::size_t most) {
  const auto walked = walk(read.around, envelope, [](wire::Value&) { return simdjson::SUCCESS; });
  return envelope.result == read.around.data() + read.begin && outcome(walked, envelope, type, most).ok();
}

/// Adds the rows of a plain array in the position of data.result, if there is one.
std::optional<PlainRead> read_plain_rows(const std::string& answer, const api::UsageQuery& query, Rows& rows) {
  const auto begin = plain_array_of(answer);
  if (!begin) return std::nullopt;
  PlainVector vector(std::string_view(answer).substr(*begin));
  Element element;
  TimeMemory times;
  std::size_t count = 0;
  const auto take_label = [&](std::string_view name, std::string_view value) {
    if (std::string_view* const target = place_of(name, query, element.labels)) *target = value;
  };
  const auto take_sample = [&](const PlainSample& sample) {
    element.value = Point{times.time_of(sample.time), sample.value};
    add_row(element, query, rows);
    element = {};
    return ++count <= most_series(query);
  };
  if (answer.size() > kPageBytes) rows.reserve(rows.rows.size() + answer.size() / kMinSeriesBytes);
  if (!vector.read(take_label, take_sample)) return std::nullopt;
  return rest_of(answer, *begin, vector);
}

/// Returns nullopt and adds nothing if the answer has another form or is invalid.
std::optional<PrometheusNotes> read_plain_vector(const std::string& answer, const api::UsageQuery& query, Rows& rows) {
  const std::size_t before = rows.rows.size();
  const InvalidCounts oddities = rows.oddities;
  if (auto read = read_plain_rows(answer, query, rows)) {
    Envelope envelope;
    if (check_envelope(*read, envelope, "vector", most_series(query))) return std::move(envelope.notes);
  }
  rows.truncate(before);
  rows.oddities = oddities;
  return std::nullopt;
}

void end_series(std::string_view name, std::size_t begin, NumberSeries& read) {
  if (name.empty()) return read.numbers.resize(begin);
  read.series.push_back({std::string(name), begin, read.numbers.size()});
}

/// Returns nullopt if the answer has another form or is invalid.
std::optional<NumberSeries> read_plain_numbers(const std::string& answer, const api::UsageQuery& query) {
  const auto begin = plain_array_of(answer);
  if (!begin) return std::nullopt;
  NumberSeries read;
  read.numbers.reserve(answer.size() / kMinPointBytes);
  PlainVector matrix(std::string_view(answer).substr(*begin));
  Labels labels;
  std::size_t first = 0;
  const bool is_plain = matrix.read_numbers(
      [&](std::string_view name, std::string_view value) {
        if (std::string_view* const target = place_of(name, query, labels)) *target = value;
      },
      [&](std::int32_t number) { read.numbers.push_back(number); },
      [&] {
        end_series(node_of(labels, query), first, read);
        first = read.numbers.size();
        labels = {};
        return read.series.size() <= kMaxNodeSeries;
      });
  if (!is_plain) return std::nullopt;
  Envelope envelope;
  PlainRead rest = rest_of(answer, *begin, matrix);
  return check_envelope(rest, envelope, "matrix", kMaxNodeSeries) ? std::optional(std::move(read)) : std::nullopt;
}

wire::error_code add_numbers(wire::Value& value, NumberSeries& read) {
  return wire::for_elements(value, [&](wire::Value& item) {
    Point point;
    if (const auto error = read_point(item, point)) return error;
    const auto number = whole_number_of(point.text.value_or(std::string_view()));
    if (number) read.numbers.push_back(*number);
    if (!number && point.text != "NaN") ++read.not_whole;
    return simdjson::SUCCESS;
  });
}

}  // namespace

base::Result<PrometheusNotes> read_vector(std::string& answer, const api::UsageQuery& query, Rows& rows) {
  if (auto notes = read_plain_vector(answer, query, rows)) return *std::move(notes);
  Envelope envelope;
  std::size_t count = 0;
  const auto read_element = [&](wire::Value& value) {
    if (++count > most_series(query)) {
      envelope.too_many = true;
      return simdjson::CAPACITY;
    }
    Element element;
    bool is_object = false;
    const auto error = wire::for_members(value, [&](std::string_view key, wire::Value& member) {
      is_object = true;
      if (key == "metric") return read_labels(member, query, element.labels);
      if (key == "value") return read_point(member, element.value.emplace());
      return simdjson::SUCCESS;
    });
    if (!error && is_object) add_row(element, query, rows);
    return error;
  };
  const auto walked = walk(answer, envelope, read_element);
  if (auto fine = outcome(walked, envelope, "vector", most_series(query)); !fine) return std::move(fine).error();
  return std::move(envelope.notes);
}

base::Result<PrometheusNotes> read_matrix(std::string& answer, const api::UsageQuery& query, const Grid& grid,
                                          GridSeries& series) {
  Envelope envelope;
  Filled filled;
  std::size_t count = 0;
  Points points;
  const auto read_element = [&](wire::Value& value) {
    if (++count > kMaxNodeSeries || (series.size() + 1) * grid.points > kMaxGridValues) {
      envelope.too_many = true;
      return simdjson::CAPACITY;
    }
    Labels labels;
    points.clear();
    const auto error =
        read_members(value, on("metric", [&](auto& metric) { return read_labels(metric, query, labels); }),
                     on("values", [&](auto& list) { return read_points(list, query, points); }));
    if (const std::string_view node = node_of(labels, query); !error && !node.empty())
      add_points(node, points, grid, series, filled);
    return error;
  };
  const auto walked = walk(answer, envelope, read_element);
  const std::size_t most = std::min(kMaxNodeSeries, kMaxGridValues / std::max<std::size_t>(grid.points, 1));
  if (auto fine = outcome(walked, envelope, "matrix", most); !fine) return std::move(fine).error();
  return std::move(envelope.notes);
}

base::Result<NumberSeries> read_numbers(std::string& answer, const api::UsageQuery& query) {
  if (auto plain = read_plain_numbers(answer, query)) return *std::move(plain);
  NumberSeries read;
  Envelope envelope;
  const auto read_element = [&](wire::Value& value) {
    if (read.series.size() >= kMaxNodeSeries) {
      envelope.too_many = true;
      return simdjson::CAPACITY;
    }
    Labels labels;
    const std::size_t begin = read.numbers.size();
    const auto error =
        read_members(value, on("metric", [&](auto& metric) { return read_labels(metric, query, labels); }),
                     on("values", [&](auto& list) { return add_numbers(list, read); }));
    if (!error) end_series(node_of(labels, query), begin, read);
    return error;
  };
  const auto walked = walk(answer, envelope, read_element);
  if (auto fine = outcome(walked, envelope, "matrix", kMaxNodeSeries); !fine) return std::move(fine).error();
  return read;
}

base::Result<double> read_count(std::string& answer) {
  Envelope envelope;
  InvalidCounts oddities;
  double count = 0;
  const auto walked = walk(answer, envelope, [&](wire::Value& value) {
    return read_members(value, on("value", [&](auto& member) {
                          Point point;
                          const auto error = read_point(member, point);
                          if (!error && point.text) count = read_number(*point.text, oddities);
                          return error;
                        }));
  });
  if (auto fine = outcome(walked, envelope, "vector", 0); !fine) return std::move(fine).error();
  if (std::isnan(count)) return base::invalid("the count is not a number");
  return count;
}

std::optional<base::Error> api_error(std::string& answer) {
  Envelope envelope;
  const auto walked = walk(answer, envelope, [](wire::Value&) { return simdjson::SUCCESS; });
  if (!walked || envelope.status != "error" || envelope.error_type.empty()) return std::nullopt;
  return check(envelope, "vector", 0).error();
}

}  // namespace usage
