#pragma once

/// Values that are equal in many objects, such as the containers of all pods of a workload. Equal values can share one
/// allocation.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace api {

/// Hashes the parts of a value, for Shared::share(). The seed differs between processes, so that colliding values
/// cannot be prepared.
class Hasher {
 public:
  Hasher();
  Hasher& add(std::string_view text);
  Hasher& add(std::int64_t number);
  std::size_t value() const { return value_; }

 private:
  std::size_t value_;
};

/// Allocation that Shared points to. Internal to Shared and its pool.
class SharedNode {
 public:
  SharedNode() = default;
  virtual ~SharedNode() = default;
  SharedNode(const SharedNode&) = delete;
  SharedNode& operator=(const SharedNode&) = delete;
  /// Returns true if `other` has the same type and value.
  virtual bool equals(const SharedNode& other) const = 0;

  bool is_frozen() const { return is_frozen_; }
  /// Makes the node immutable, so that it may have several users.
  void freeze() { is_frozen_ = true; }
  void add_user() { users_.fetch_add(1, std::memory_order_relaxed); }
  /// Removes a user, who must not access the node afterwards. The last one deletes it.
  void leave();

  /// Returns a pooled node that equals `node`; if it is another node, `node` is deleted. The caller must be the only
  /// user of `node`, which must not be frozen. `hash` is the hash of its value.
  static SharedNode* pooled(SharedNode* node, std::size_t hash);

 private:
  friend class SharedPool;
  std::atomic<std::uint32_t> users_{1};
  bool is_frozen_ = false;
  bool is_pooled_ = false;
  std::size_t hash_ = 0;
  SharedNode* next_ = nullptr;  ///< next node in the pool's bucket
};

/// A value, initially V{}, stored in one pointer. Behaves like a V: copies are independent. Once frozen or shared,
/// copies are cheap, and editing a copy first duplicates the value. Thread-safe like a V: any number of threads may
/// read or copy concurrently.
template <typename V>
class Shared {
 public:
  Shared() = default;
  Shared(V value) { assign(std::move(value)); }
  Shared(const Shared& other) : node_(other.copied()) {}
  Shared(Shared&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Shared& operator=(const Shared& other) {
    if (this != &other) reset(other.copied());
    return *this;
  }
  Shared& operator=(Shared&& other) noexcept {
    if (this != &other) reset(std::exchange(other.node_, nullptr));
    return *this;
  }
  ~Shared() { reset(nullptr); }

  const V& get() const { return node_ ? node_->value : kNone; }
  operator const V&() const { return get(); }
  /// Returns the value for modification. The reference is valid until this object is copied, assigned, moved, frozen or
  /// shared.
  V& edit() {
    if (!node_) {
      node_ = new Node(V{});
    } else if (node_->is_frozen()) {
      reset(new Node(node_->value));
    }
    return node_->value;
  }

  void freeze() {
    if (node_) node_->freeze();
  }
  /// Shares the allocation with an equal value that was shared before and still exists. `hash` must be equal for
  /// equal values.
  void share(std::size_t hash) {
    if (!node_ || node_->is_frozen()) return;
    if (node_->value == V{}) return reset(nullptr);
    node_ = static_cast<Node*>(SharedNode::pooled(node_, hash));
  }
  /// Returns the address of the allocation, for prefetching; equal for values that share it. Returns nullptr if empty.
  const void* address() const { return node_; }

  friend bool operator==(const Shared& a, const Shared& b) { return a.node_ == b.node_ || a.get() == b.get(); }

 protected:
  void assign(V value) { reset(value == V{} ? nullptr : new Node(std::move(value))); }

 private:
  struct Node final : SharedNode {
    explicit Node(V value_in) : value(std::move(value_in)) {}
    bool equals(const SharedNode& other) const override {
      const auto* same = dynamic_cast<const Node*>(&other);
      return same != nullptr && same->value == value;
    }
    V value;
  };

  inline static const V kNone{};
  Node* copied() const {
    if (!node_ || !node_->is_frozen()) return node_ ? new Node(node_->value) : nullptr;
    node_->add_user();
    return node_;
  }
  void reset(Node* node) {
    if (Node* const before = std::exchange(node_, node)) before->leave();
  }

  Node* node_ = nullptr;  ///< nullptr = empty
};

/// Text as Shared, for texts with few distinct values, such as names of classes and schedulers.
class SharedText : public Shared<std::string> {
 public:
  using Shared<std::string>::Shared;
  SharedText() = default;
  SharedText(const char* text) : Shared(std::string(text)) {}
  SharedText(std::string_view text) : Shared(std::string(text)) {}

  operator std::string_view() const { return get(); }
  bool empty() const { return get().empty(); }
  void share() { Shared::share(Hasher().add(get()).value()); }

  friend bool operator==(const SharedText& a, const SharedText& b) { return a.get() == b.get(); }
  friend bool operator==(const SharedText& a, std::string_view b) { return a.get() == b; }
  friend bool operator==(const SharedText& a, const std::string& b) { return a.get() == b; }
  friend bool operator==(const SharedText& a, const char* b) { return a.get() == b; }
};

/// std::vector as Shared. Modifying functions and the iterators and references of a non-const list first call
/// Shared::edit(), which duplicates shared storage.
template <typename T>
class SharedList : public Shared<std::vector<T>> {
 public:
  using Base = Shared<std::vector<T>>;
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = typename std::vector<T>::iterator;
  using const_iterator = typename std::vector<T>::const_iterator;
  using Base::edit;
  using Base::get;

  SharedList() = default;
  SharedList(std::vector<T> items) : Base(std::move(items)) {}
  SharedList(std::initializer_list<T> items) : Base(std::vector<T>(items)) {}
  SharedList& operator=(std::vector<T> items) {
    this->Base::assign(std::move(items));
    return *this;
  }
  SharedList& operator=(std::initializer_list<T> items) { return *this = std::vector<T>(items); }

  bool empty() const { return get().empty(); }
  std::size_t size() const { return get().size(); }
  const T* data() const { return get().data(); }
  const_iterator begin() const { return get().begin(); }
  const_iterator end() const { return get().end(); }
  const T& operator[](std::size_t i) const { return get()[i]; }
  const T& at(std::size_t i) const { return get().at(i); }
  const T& front() const { return get().front(); }
  const T& back() const { return get().back(); }

  T* data() { return edit().data(); }
  iterator begin() { return edit().begin(); }
  iterator end() { return edit().end(); }
  T& operator[](std::size_t i) { return edit()[i]; }
  T& at(std::size_t i) { return edit().at(i); }
  T& front() { return edit().front(); }
  T& back() { return edit().back(); }
  void push_back(T item) { edit().push_back(std::move(item)); }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    return edit().emplace_back(std::forward<Args>(args)...);
  }
  void assign(std::size_t count, const T& item) { edit().assign(count, item); }
  void resize(std::size_t count) { edit().resize(count); }
  void clear() { *this = std::vector<T>(); }

  friend bool operator==(const SharedList& a, const SharedList& b) {
    return static_cast<const Base&>(a) == static_cast<const Base&>(b);
  }
};

}  // namespace api
