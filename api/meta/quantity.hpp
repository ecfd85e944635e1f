#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace api {

/// A resource amount (resource.Quantity) in thousandths, saturating at the ends of int64 (about 9.2 P units).
/// Amounts below one thousandth round up, as Kubernetes' MilliValue() does.
class Quantity {
 public:
  constexpr Quantity() = default;
  static constexpr Quantity from_milli(std::int64_t milli) { return Quantity(milli); }
  static Quantity from_units(std::int64_t units);

  /// Reads "100m", "1.5", "2Gi", "1e3", "-5Ki"… nullopt if it is no quantity.
  static std::optional<Quantity> parse(std::string_view text);

  constexpr std::int64_t milli() const { return milli_; }
  /// Whole units, rounded up (Kubernetes' Value()).
  constexpr std::int64_t units() const { return milli_ / 1000 + (milli_ % 1000 > 0 ? 1 : 0); }
  /// Canonical text: "1500m", "2Gi" where `binary` fits exactly, plain digits otherwise.
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
