#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace api {

/// Amount of a resource (resource.Quantity) in thousandths, saturating at the limits of int64 (about 9.2 P units).
/// Amounts below one thousandth are rounded up, as by Kubernetes' MilliValue().
class Quantity {
 public:
  constexpr Quantity() = default;
  static constexpr Quantity from_milli(std::int64_t milli) { return Quantity(milli); }
  static Quantity from_units(std::int64_t units);

  /// Parses "100m", "1.5", "2Gi", "1e3", "-5Ki"… Returns nullopt if malformed.
  static std::optional<Quantity> parse(std::string_view text);

  constexpr std::int64_t milli() const { return milli_; }
  /// Whole units, rounded up, as by Kubernetes' Value().
  constexpr std::int64_t units() const { return milli_ / 1000 + (milli_ % 1000 > 0 ? 1 : 0); }
  /// Returns canonical text: "1500m"; with `binary` "2Gi" if exact; otherwise plain digits.
  std::string to_string(bool binary = false) const;

  Quantity& operator+=(Quantity other);  ///< saturates
  Quantity& operator-=(Quantity other);  ///< saturates
  friend Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;

 private:
  explicit constexpr Quantity(std::int64_t milli) : milli_(milli) {}
  std::int64_t milli_ = 0;
};

}  // namespace api
