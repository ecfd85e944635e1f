#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace base {

/// Queue that is fair between owners (namespaces, peers): pop() takes one item of each owner in turn, and each owner's
/// items in order of arrival. An owner with thousands of items delays another owner by one item. Not thread-safe.
template <typename Item>
class FairQueue {
 public:
  void push(const std::string& owner, Item item) {
    std::deque<Item>& own = by_owner_[owner];
    if (own.empty()) turns_.push_back(owner);
    own.push_back(std::move(item));
    ++size_;
  }

  std::optional<Item> pop() {
    if (turns_.empty()) return std::nullopt;
    const auto own = by_owner_.find(turns_.front());
    turns_.pop_front();
    std::optional<Item> item(std::move(own->second.front()));
    own->second.pop_front();
    --size_;
    if (own->second.empty()) {
      by_owner_.erase(own);
    } else {
      turns_.push_back(own->first);
    }
    return item;
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  std::map<std::string, std::deque<Item>> by_owner_;  ///< no deque is empty
  std::deque<std::string> turns_;                     ///< owners in the order in which they are served
  std::size_t size_ = 0;
};

}  // namespace base
