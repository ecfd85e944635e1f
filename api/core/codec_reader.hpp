#pragma once

/// Shared by the decoders of codec*.cpp, of Evacuations and of usage/parse. Other files must not include it, so that
/// simdjson remains contained (docs/adr/0003-simdjson-in-api.md).
///
/// Rules of simdjson's On-demand API that all functions follow: each value is read at most once and in document order.
/// After an error other than a wrong type of one value, the whole document is rejected.

#include <simdjson.h>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace api::wire {

using simdjson::error_code;
using Value = simdjson::ondemand::value;
using Array = simdjson::ondemand::array;
using Object = simdjson::ondemand::object;
using Document = simdjson::ondemand::document;

/// Larger buffers are freed after use, so that a single giant page does not remain resident.
inline constexpr std::size_t kKeptCapacity = 64U << 10U;

/// A parser with its padded copy of the text.
struct Slot {
  simdjson::ondemand::parser parser;
  std::unique_ptr<char[]> text;
  std::size_t capacity = 0;

  void release() {
    parser = simdjson::ondemand::parser();
    text.reset();
    capacity = 0;
  }

  simdjson::padded_string_view copy(std::string_view json) {
    const std::size_t needed = json.size() + simdjson::SIMDJSON_PADDING;
    if (needed > capacity) {
      capacity = needed + needed / 2;
      text = std::make_unique_for_overwrite<char[]>(capacity);
    }
    std::memcpy(text.get(), json.data(), json.size());
    std::memset(text.get() + json.size(), ' ', simdjson::SIMDJSON_PADDING);
    return simdjson::padded_string_view(text.get(), json.size(), capacity);
  }
};

/// Pool of unused slots. Only few are in use concurrently, however many threads there are. Thread-safe.
class SlotPool {
 public:
  std::unique_ptr<Slot> take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return std::make_unique<Slot>();
    std::unique_ptr<Slot> newest = std::move(free_.back());
    free_.pop_back();
    return newest;
  }
  void give_back(std::unique_ptr<Slot> slot) {
    const std::scoped_lock lock(mutex_);
    if (free_.size() < kMaxKept) free_.push_back(std::move(slot));
  }
  static SlotPool& shared() {
    static SlotPool pool;
    return pool;
  }

 private:
  static constexpr std::size_t kMaxKept = 8;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Slot>> free_;
};

/// Scoped use of a slot. Leases can nest: the decoder of an item runs inside for_each_item.
class Lease {
 public:
  Lease() : slot_(SlotPool::shared().take()) {}
  ~Lease() {
    if (slot_->capacity > kKeptCapacity) slot_->release();
    SlotPool::shared().give_back(std::move(slot_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Slot& operator*() { return *slot_; }
  Slot* operator->() { return slot_.get(); }

 private:
  std::unique_ptr<Slot> slot_;
};

/// Ignores an error that concerns one value only. All other errors break the document.
inline error_code unless_about_value(error_code error) {
  switch (error) {
    case simdjson::INCORRECT_TYPE:
    case simdjson::NUMBER_ERROR:
    case simdjson::NUMBER_OUT_OF_RANGE:
    case simdjson::STRING_ERROR: return simdjson::SUCCESS;
    default: return error;
  }
}

/// Returns the key as written between its quotes. Its end is found backwards from the value; between them are a quote,
/// a colon and possibly spaces. Known keys need no escapes, so an escaped key is an unknown key.
inline std::string_view raw_key(simdjson::ondemand::raw_json_string key, Value& value) {
  const char* end = value.raw_json_token().data() - 1;
  while (*end != '"') --end;
  return {key.raw(), static_cast<std::size_t>(end - key.raw())};
}

/// Calls each(key, value) for the members of an object; `each` returns an error_code. Results are used in place, here
/// and in the functions below, because copying a value stalls the processor until it is written.
template <typename F>
error_code for_members(Object& object, F&& each) {
  for (auto field : object) {
    if (const error_code error = field.error()) return error;
    Value& value = field.value_unsafe().value();
    if (const error_code error = each(raw_key(field.value_unsafe().key(), value), value)) return error;
  }
  return simdjson::SUCCESS;
}

/// Calls each(key, value) for the members of `value`. A value that is not an object has no members.
template <typename F>
error_code for_members(Value& value, F&& each) {
  auto object = value.get_object();
  if (object.error()) return unless_about_value(object.error());
  return for_members(object.value_unsafe(), each);
}

/// Calls each(key, value) with unescaped keys, for maps with keys chosen by users.
template <typename F>
error_code for_entries(Value& value, F&& each) {
  auto object = value.get_object();
  if (object.error()) return unless_about_value(object.error());
  for (auto field : object.value_unsafe()) {
    if (const error_code error = field.error()) return error;
    std::string_view key;
    const error_code key_error = field.value_unsafe().unescaped_key().get(key);
    if (unless_about_value(key_error)) return key_error;
    if (key_error) continue;  // invalid escape sequence
    if (const error_code error = each(key, field.value_unsafe().value())) return error;
  }
  return simdjson::SUCCESS;
}

/// Calls each(value) for the elements of an array. A value that is not an array has no elements.
template <typename F>
error_code for_elements(Value& value, F&& each) {
  auto array = value.get_array();
  if (array.error()) return unless_about_value(array.error());
  for (auto element : array.value_unsafe()) {
    if (const error_code error = element.error()) return error;
    if (const error_code error = each(element.value_unsafe())) return error;
  }
  return simdjson::SUCCESS;
}

/// Returns an error if the value is not a string.
inline error_code text_of(Value& value, std::string_view& text) { return value.get_string().get(text); }

inline error_code is_object(Value& value, bool& target) {
  simdjson::ondemand::json_type type{};
  const error_code error = value.type().get(type);
  target = !error && type == simdjson::ondemand::json_type::object;
  return error;
}

inline error_code is_null(Value& value, bool& target) { return value.is_null().get(target); }

inline error_code read(Value& value, std::string& target) {
  std::string_view text;
  const error_code error = value.get_string().get(text);
  if (!error) target = text;
  return unless_about_value(error);
}

inline error_code read(Value& value, bool& target) {
  bool read = false;
  const error_code error = value.get_bool().get(read);
  if (!error) target = read;
  return unless_about_value(error);
}

/// A number out of range leaves the target unchanged.
template <std::signed_integral Integer>
error_code read(Value& value, std::optional<Integer>& target) {
  std::int64_t read = 0;
  const error_code error = value.get_int64().get(read);
  if (!error && std::in_range<Integer>(read)) target = static_cast<Integer>(read);
  return unless_about_value(error);
}

template <std::signed_integral Integer>
error_code read(Value& value, Integer& target) {
  std::optional<Integer> number;
  const error_code error = read(value, number);
  target = number.value_or(target);
  return error;
}

inline error_code read(Value& value, base::TimePoint& target) {
  std::string_view text;
  const error_code error = value.get_string().get(text);
  if (!error) target = base::parse_time(text).value_or(target);
  return unless_about_value(error);
}

inline error_code read(Value& value, std::optional<base::TimePoint>& target) {
  std::string_view text;
  const error_code error = value.get_string().get(text);
  if (!error) target = base::parse_time(text);
  return unless_about_value(error);
}

inline error_code read(Value& value, std::vector<std::string>& target) {
  return for_elements(value, [&](Value& item) {
    std::string_view text;
    const error_code error = item.get_string().get(text);
    if (!error) target.emplace_back(text);
    return unless_about_value(error);
  });
}

/// Sets `target` to true if the value is a non-empty array or object.
inline error_code read_non_empty(Value& value, bool& target) {
  simdjson::ondemand::json_type type{};
  if (const error_code error = value.type().get(type)) return error;
  const auto seen = [&](auto&&...) {
    target = true;
    return simdjson::SUCCESS;
  };
  if (type == simdjson::ondemand::json_type::array) return for_elements(value, seen);
  if (type == simdjson::ondemand::json_type::object) return for_members(value, seen);
  return simdjson::SUCCESS;
}

/// The member `name` of an object, with the function that reads its value.
template <typename F>
struct MemberReader {
  std::string_view name;
  F read;
};

/// Returns the reader of a member: into a variable that read() accepts, into a Shared of such a variable, or with a
/// function of the value, which must be constant or an rvalue.
template <typename T>
auto on(std::string_view name, T&& target) {
  if constexpr (std::is_lvalue_reference_v<T> && !std::is_const_v<std::remove_reference_t<T>>) {
    auto into = [&target](auto& value) {
      if constexpr (requires { target.edit(); }) {
        return read(value, target.edit());
      } else {
        return read(value, target);
      }
    };
    return MemberReader<decltype(into)>{name, into};
  } else {
    return MemberReader<std::remove_cvref_t<T>>{name, std::forward<T>(target)};
  }
}

/// Reader of an object that reads these members and skips all others. A value that is not an object has no members.
template <typename... F>
struct ObjectReader {
  std::tuple<MemberReader<F>...> members;

  template <typename V>
  error_code read_member(std::string_view key, V& value) const {
    error_code error = simdjson::SUCCESS;
    const auto read_if_named = [&](const auto& member) {
      if (key != member.name) return false;
      error = member.read(value);
      return true;
    };
    std::apply([&](const auto&... each) { static_cast<void>((read_if_named(each) || ...)); }, members);
    return error;
  }
  template <typename V>
  error_code operator()(V& object) const {
    return for_members(object, [this](std::string_view key, auto& value) { return this->read_member(key, value); });
  }
};
template <typename... F>
auto members(MemberReader<F>... readers) {
  return ObjectReader<F...>{{std::move(readers)...}};
}
template <typename V, typename... F>
error_code read_members(V& object, MemberReader<F>... readers) {
  return members(std::move(readers)...)(object);
}

/// Returns a reader of an array that calls read(element) for each element.
template <typename F>
auto elements(F read) {
  return [read](auto& array) { return for_elements(array, read); };
}

/// Parses `json`, which must be exactly one JSON object, and calls read(root), which returns an error_code. The
/// returned error contains its message.
template <typename F>
base::Status read_document(Slot& slot, std::string_view json, const char* what, F&& read) {
  Document document;
  Object root;
  error_code error = slot.parser.iterate(slot.copy(json)).get(document);
  if (!error) error = document.get_object().get(root);
  if (!error) error = read(root);
  if (!error && document.current_location().error() != simdjson::OUT_OF_BOUNDS) error = simdjson::TRAILING_CONTENT;
  if (!error) return base::Done{};
  std::string message = "decoding ";
  message += what;
  message +=
      error == simdjson::INCORRECT_TYPE ? ": the text is not a JSON object" : std::string(": ") + error_message(error);
  return base::invalid(std::move(message));
}

/// Copies the whole value (object_json.cpp). Any error breaks the document.
error_code copy_json(Value& value, Json& target);

}  // namespace api::wire
