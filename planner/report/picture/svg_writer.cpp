#include "planner/report/picture/svg_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/report/plain_text.hpp"

namespace report {
namespace {

/// Formats with one decimal, omitting ".0".
std::string number(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

/// Font size of a CSS class, used for clipping. Must match the style in svg.cpp.
double size_of(std::string_view css_class) {
  if (css_class == "title") return 20;
  if (css_class == "value") return 17;
  return css_class == "small" || css_class == "freed-name" ? 10 : 12;
}

}  // namespace

std::string clip_to(std::string_view text, double pixels, double font_size) {
  const auto most = static_cast<std::size_t>(std::max(0.0, pixels / (font_size * 0.57)));
  std::string out;
  std::size_t count = 0;
  for (std::string_view rest = text; !rest.empty(); ++count) {
    const std::string_view before = rest;
    take_character(rest);
    if (count + 1 >= most && !rest.empty()) return count < 2 ? "" : out + "…";
    out += before.substr(0, before.size() - rest.size());
  }
  return count > most ? "" : out;
}

void SvgWriter::text(double x, double y, std::string_view text, std::string_view css_class, double most,
                     Anchor anchor) {
  const std::string shown = most < 1e9 ? clip_to(text, most, size_of(css_class)) : std::string(text);
  if (shown.empty()) return;
  const std::string_view where = anchor == Anchor::kMiddle ? " text-anchor=\"middle\""
                                 : anchor == Anchor::kEnd  ? " text-anchor=\"end\""
                                                           : "";
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\"{}>{}</text>\n", number(x), number(y), css_class, where,
                       escape_markup(shown));
}

void SvgWriter::rect(double x, double y, double w, double h, std::string_view css_class, double radius,
                     std::string_view tooltip) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"", number(x), number(y),
                       number(w), number(h), css_class);
  if (radius > 0) body_ += fmt::format(" rx=\"{}\"", number(radius));
  body_ += tooltip.empty() ? "/>\n" : "><title>" + escape_markup(tooltip) + "</title></rect>\n";
}

void SvgWriter::line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", number(x1), number(y1),
                       number(x2), number(y2), css_class);
}

void SvgWriter::add_to_path(std::string& path, double x, double y, double w, double h) {
  path += "M" + number(x) + " " + number(y) + "h" + number(w) + "v" + number(h) + "h-" + number(w) + "z";
}

void SvgWriter::path(const std::string& data, std::string_view css_class) {
  if (!data.empty()) body_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", css_class, data);
}

std::string SvgWriter::finish(double width, double height, std::string_view title, std::string_view description,
                              std::string_view style) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "aria-labelledby=\"t d\">\n<title id=\"t\">{2}</title>\n<desc "
      "id=\"d\">{3}</desc>\n<style>{4}</style>\n{5}</svg>\n",
      number(width), number(height), escape_markup(title), escape_markup(description), style, body_);
}

}  // namespace report
