#pragma once

#include <string>
#include <string_view>

namespace reporting {

/// Where a text begins, or ends.
enum class Anchor { kStart, kMiddle, kEnd };

/// Writes the parts of an SVG. Coordinates are pixels with one decimal. All text is escaped here, and nowhere else.
class SvgWriter {
 public:
  /// One line of text; cut so that it is about `most` pixels long, with "…".
  void text(double x, double y, std::string_view text, std::string_view css_class, double most = 1e9,
            Anchor anchor = Anchor::kStart);
  void rect(double x, double y, double w, double h, std::string_view css_class, double radius = 0,
            std::string_view tooltip = {});
  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  /// Many rectangles of one class: add_to_path() each, then path().
  static void add_to_path(std::string& path, double x, double y, double w, double h);
  void path(const std::string& data, std::string_view css_class);

  /// The whole picture of that size. `style`: CSS.
  std::string finish(double width, double height, std::string_view title, std::string_view description,
                     std::string_view style) const;

 private:
  std::string body_;
};

/// The text cut to about so many pixels at that font size.
std::string clip_to(std::string_view text, double pixels, double font_size);

}  // namespace reporting
