#include "usage/parse/file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "usage/parse/document.hpp"
#include "usage/parse/file_table.hpp"

namespace usage {
namespace {

struct Tables {
  FileTable nodes;
  FileTable pods;
};

// --- CSV

struct Cell {
  std::string text;
  Place place;
};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Reads one cell and its comma. The cell may be quoted, with doubled quotes inside.
base::Result<Cell> take_cell(std::string_view line, std::size_t& at, std::size_t number) {
  while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
  Cell cell{{}, {number, at + 1}};
  if (at < line.size() && line[at] == '"') {
    for (++at;; ++at) {
      if (at >= line.size()) return at_place(cell.place, "a quote is not closed");
      if (line[at] == '"' && (at + 1 >= line.size() || line[at + 1] != '"')) break;
      if (line[at] == '"') ++at;
      cell.text += line[at];
    }
    const auto comma = std::min(line.find(',', ++at), line.size());
    if (!trimmed(line.substr(at, comma - at)).empty())
      return at_place({number, at + 1}, "unexpected text after the closing quote");
    at = comma;
    return cell;
  }
  const auto comma = std::min(line.find(',', at), line.size());
  cell.text = trimmed(line.substr(at, comma - at));
  at = comma;
  return cell;
}

base::Result<std::vector<Cell>> cells_of(std::string_view line, std::size_t number) {
  std::vector<Cell> cells;
  for (std::size_t at = 0;; ++at) {  // skips the comma
    auto cell = take_cell(line, at, number);
    if (!cell) return std::move(cell).error();
    cells.push_back(*std::move(cell));
    if (at >= line.size()) return cells;
  }
}

/// One table of a CSV: a header and the rows up to the next header.
struct Section {
  FileTable* table = nullptr;
  std::size_t names = 1;  ///< number of cells that name the row: node, or namespace and pod
  std::vector<std::size_t> columns;
};

bool is_header(const std::vector<Cell>& cells) {
  return cells[0].text == "node" || (cells[0].text == "namespace" && cells.size() > 1 && cells[1].text == "pod");
}

base::Result<Section> read_header(const std::vector<Cell>& cells, Tables& tables) {
  Section section;
  section.names = cells[0].text == "node" ? 1 : 2;
  section.table = section.names == 1 ? &tables.nodes : &tables.pods;
  if (!section.table->columns().empty()) return at_place(cells[0].place, "a second header of the same kind");
  for (std::size_t i = section.names; i < cells.size(); ++i) {
    if (cells[i].text.empty()) return at_place(cells[i].place, "the column has no name");
    if (section.table->has_column(cells[i].text))
      return at_place(cells[i].place, fmt::format("column {} occurs twice", cells[i].text));
    section.columns.push_back(section.table->column(cells[i].text));
  }
  if (section.columns.empty()) return at_place(cells.back().place, "the header has no column of a resource");
  return section;
}

base::Status read_row(const std::vector<Cell>& cells, const Section& section) {
  const std::size_t wanted = section.names + section.columns.size();
  if (cells.size() != wanted)
    return at_place(cells.back().place, fmt::format("the row has {} cells, its header {}", cells.size(), wanted));
  const bool is_pod = section.names == 2;
  if (is_pod && cells[0].text.empty()) return at_place(cells[0].place, "a name is missing");
  auto done = section.table->add_row(is_pod ? cells[0].text : "", cells[section.names - 1].text, cells[0].place);
  for (std::size_t i = 0; done && i < section.columns.size(); ++i) {
    const Cell& cell = cells[section.names + i];
    done = section.table->set(section.columns[i], cell.text, cell.place);
  }
  return done;
}

base::Status read_csv(std::string_view text, Tables& tables) {
  Section section;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (trimmed(line).empty() || trimmed(line).front() == '#') continue;
    const auto cells = cells_of(line, number);
    if (!cells) return cells.error();
    if (is_header(*cells)) {
      auto next = read_header(*cells, tables);
      if (!next) return std::move(next).error();
      section = *std::move(next);
    } else if (section.table == nullptr) {
      return at_place({number, 1}, "expected a header: node,cpu,memory or namespace,pod,cpu,memory");
    } else if (auto done = read_row(*cells, section); !done) {
      return done;
    }
  }
  return base::Done{};
}

// --- JSON

/// Walks a text that is valid JSON. Stops at the first error.
class JsonFile {
 public:
  explicit JsonFile(std::string text) : text_(std::move(text)) {}

  base::Status read(Tables& tables) {
    auto walked = read_in_place(text_, [&](wire::Object& root) {
      return wire::for_members(root, [&](std::string_view key, wire::Value& value) {
        if (key == "nodes") return read_items(value, tables.nodes, false);
        if (key == "pods") return read_items(value, tables.pods, true);
        return complain(value, fmt::format("unknown key \"{}\": the keys are nodes and pods", key));
      });
    });
    if (complaint_) return *std::move(complaint_);
    return walked;
  }

 private:
  Place place(wire::Value& value) const {
    const std::string_view token = value.raw_json_token();
    return place_of(text_, static_cast<std::size_t>(token.data() - text_.data()));
  }
  wire::error_code complain(wire::Value& value, std::string_view what) { return complain(place(value), what); }
  wire::error_code complain(Place where, std::string_view what) { return complain(at_place(where, what)); }
  wire::error_code complain(base::Error error) {
    complaint_ = std::move(error);
    return simdjson::INCORRECT_TYPE;
  }
  static bool is(wire::Value& value, simdjson::ondemand::json_type wanted) {
    simdjson::ondemand::json_type type{};
    return !value.type().get(type) && type == wanted;
  }

  wire::error_code read_items(wire::Value& value, FileTable& table, bool is_pods) {
    if (!is(value, simdjson::ondemand::json_type::array)) return complain(value, "a list was expected");
    return wire::for_elements(value, [&](wire::Value& item) { return read_item(item, table, is_pods); });
  }

  /// Value of an item, stored until the item's name is known.
  struct Waiting {
    std::size_t column;
    std::string text;
    Place place;
  };

  wire::error_code read_item(wire::Value& item, FileTable& table, bool is_pods) {
    if (!is(item, simdjson::ondemand::json_type::object)) return complain(item, "an object was expected");
    const Place where = place(item);
    std::string ns;
    std::string name;
    std::vector<Waiting> waiting;
    const auto error = wire::for_members(item, [&](std::string_view key, wire::Value& value) {
      if (key == (is_pods ? "pod" : "node")) return read_name(value, name);
      if (is_pods && key == "namespace") return read_name(value, ns);
      return read_amount_at(value, table.column(key), waiting);
    });
    if (error) return error;
    if (is_pods && ns.empty()) return complain(where, "the namespace is missing");
    auto done = table.add_row(ns, name, where);
    for (const Waiting& value : waiting) {
      if (done) done = table.set(value.column, value.text, value.place);
    }
    return done ? simdjson::SUCCESS : complain(done.error());
  }

  wire::error_code read_name(wire::Value& value, std::string& target) {
    if (!is(value, simdjson::ondemand::json_type::string)) return complain(value, "a name was expected");
    return wire::read(value, target);
  }

  /// Reads a string or a number; null is unknown.
  wire::error_code read_amount_at(wire::Value& value, std::size_t column, std::vector<Waiting>& waiting) {
    const Place where = place(value);
    if (is(value, simdjson::ondemand::json_type::null)) return simdjson::SUCCESS;
    Waiting found{column, {}, where};
    if (is(value, simdjson::ondemand::json_type::string)) {
      if (const auto error = wire::read(value, found.text)) return error;
    } else if (is(value, simdjson::ondemand::json_type::number)) {
      found.text = trimmed(value.raw_json_token());
    }
    if (found.text.empty()) return complain(where, "an amount was expected, such as \"250m\" or \"37.5%\"");
    waiting.push_back(std::move(found));
    return simdjson::SUCCESS;
  }

  std::string text_;
  std::optional<base::Error> complaint_;
};

base::Status read_json_file(std::string_view text, Tables& tables) {
  if (auto valid = api::parse_json_unique(text); !valid) return std::move(valid).error();
  return JsonFile(std::string(text)).read(tables);
}

}  // namespace

base::Result<Samples> read_usage_file(std::string_view text, base::TimePoint time) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return base::invalid("line 1, column 1: the file is empty");
  Tables tables;
  auto done = text[first] == '{' ? read_json_file(text, tables) : read_csv(text, tables);
  if (!done) return std::move(done).error();
  if (tables.nodes.empty() && tables.pods.empty()) return base::invalid("line 1, column 1: the file contains no usage");
  return to_samples(std::move(tables.nodes), std::move(tables.pods), time);
}

}  // namespace usage
