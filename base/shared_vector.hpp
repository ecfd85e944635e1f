#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace base {

/// A list that never changes and that many hold: a copy shares it and costs nothing. Thread-safe, as what is constant
/// is.
template <typename T>
class SharedVector {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;
  using iterator = const_iterator;

  SharedVector() = default;
  SharedVector(std::initializer_list<T> items) : SharedVector(std::vector<T>(items)) {}
  explicit SharedVector(std::vector<T> items) {
    if (!items.empty()) items_ = std::make_shared<const std::vector<T>>(std::move(items));
  }

  const std::vector<T>& get() const {
    static const std::vector<T> none;
    return items_ ? *items_ : none;
  }
  std::size_t size() const { return get().size(); }
  bool empty() const { return get().empty(); }
  const T& operator[](std::size_t at) const { return get()[at]; }
  const_iterator begin() const { return get().begin(); }
  const_iterator end() const { return get().end(); }
  friend bool operator==(const SharedVector& a, const SharedVector& b) { return a.get() == b.get(); }

 private:
  std::shared_ptr<const std::vector<T>> items_;  ///< nullptr: it is empty
};

}  // namespace base
