#pragma once

#include <string>
#include <string_view>

namespace report {

/// Alignment of text relative to its x coordinate.
enum class Anchor { kStart, kMiddle, kEnd };

/// Writes elements of an SVG document. Coordinates are pixels with one decimal. All escaping of text happens in this
/// class.
class SvgWriter {
 public:
  /// Adds one line of text, clipped with "…" to about `most` pixels.
  void text(double x, double y, std::string_view text, std::string_view css_class, double most = 1e9,
            Anchor anchor = Anchor::kStart);
  void rect(double x, double y, double w, double h, std::string_view css_class, double radius = 0,
            std::string_view tooltip = {});
  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  /// Draws many rectangles of one class: call add_to_path() for each, then path().
  static void add_to_path(std::string& path, double x, double y, double w, double h);
  void path(const std::string& data, std::string_view css_class);

  /// Returns the whole document with the given size. `style` is CSS.
  std::string finish(double width, double height, std::string_view title, std::string_view description,
                     std::string_view style) const;

 private:
  std::string body_;
};

/// Returns the text clipped to about `pixels` at this font size.
std::string clip_to(std::string_view text, double pixels, double font_size);

}  // namespace report
