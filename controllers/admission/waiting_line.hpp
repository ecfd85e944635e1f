#pragma once

/// Line of Evacuations that wait for one resource, and their order.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"
#include "controllers/admission/request.hpp"

namespace controllers {

/// Order of waiting within a namespace: highest priority first, then those that no PDB holds, then those that queued
/// first, then by name.
using AdmissionOrder = std::tuple<std::int64_t, bool, base::TimePoint, api::ObjectKey>;
inline AdmissionOrder admission_order(const AdmissionRequest& request) {
  return {-static_cast<std::int64_t>(request.priority), request.held_by_pdb, request.queued_since(), request.key};
}

/// Line ordered by priority, then by whether a PDB holds the Evacuation. Among equals namespaces alternate: the one
/// with the oldest last admission is next, regardless of the number waiting in each. Within a namespace AdmissionOrder
/// decides. Each operation costs O(log n) in the number of waiting entries. Not thread-safe.
class WaitingLine {
 public:
  /// Returns the number of the last admission of a namespace. Must not decrease.
  using Turn = std::function<std::uint64_t(const std::string& ns)>;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  /// `need`: number of slots that it waits for.
  void insert(const AdmissionOrder& order, std::int64_t need, const Turn& turn) {
    OfClass& of_class = classes_[class_of(order)];
    const std::string& ns = namespace_of(order);
    if (of_class.namespaces[ns].waiting.emplace(order, need).second) ++size_;
    rank_again(of_class, ns, turn);
  }

  void erase(const AdmissionOrder& order, const Turn& turn) {
    const auto of_class = classes_.find(class_of(order));
    if (of_class == classes_.end()) return;
    auto& [namespaces, ranks] = of_class->second;
    const auto of_namespace = namespaces.find(namespace_of(order));
    if (of_namespace == namespaces.end() || of_namespace->second.waiting.erase(order) == 0) return;
    --size_;
    if (!of_namespace->second.waiting.empty()) return rank_again(of_class->second, of_namespace->first, turn);
    ranks.erase(of_namespace->second.rank);
    namespaces.erase(of_namespace);
    if (namespaces.empty()) classes_.erase(of_class);
  }

  struct First {
    AdmissionOrder order;
    std::int64_t need = 1;
  };
  /// Returns nullopt if the line is empty.
  std::optional<First> first(const Turn& turn) const {
    if (classes_.empty()) return std::nullopt;
    OfClass& of_class = classes_.begin()->second;
    for (;;) {  // turns only grow, so an outdated rank comes too early, never too late
      const Rank top = *of_class.ranks.begin();
      const std::string& ns = namespace_of(top.second);
      if (turn(ns) <= top.first) return First{top.second, of_class.namespaces.at(ns).waiting.at(top.second)};
      rank_again(of_class, ns, turn);
    }
  }

  /// Whether `a` goes before `b`.
  static bool goes_before(const AdmissionOrder& a, const AdmissionOrder& b, const Turn& turn) {
    const auto rank = [&](const AdmissionOrder& of) { return Rank{turn(namespace_of(of)), of}; };
    return std::pair(class_of(a), rank(a)) < std::pair(class_of(b), rank(b));
  }

 private:
  using Class = std::pair<std::int64_t, bool>;  ///< priority, and whether a PDB holds it
  /// Rank of a namespace: number of its last admission, and its first entry.
  using Rank = std::pair<std::uint64_t, AdmissionOrder>;
  struct OfNamespace {
    std::map<AdmissionOrder, std::int64_t> waiting;
    Rank rank{};
  };
  struct OfClass {
    std::map<std::string, OfNamespace> namespaces;
    std::set<Rank> ranks;  ///< one per namespace, possibly outdated
  };

  static Class class_of(const AdmissionOrder& order) { return {std::get<0>(order), std::get<1>(order)}; }
  static const std::string& namespace_of(const AdmissionOrder& order) { return std::get<api::ObjectKey>(order).ns; }

  static void rank_again(OfClass& of_class, const std::string& ns, const Turn& turn) {
    OfNamespace& of_namespace = of_class.namespaces.at(ns);
    of_class.ranks.erase(of_namespace.rank);
    of_namespace.rank = {turn(ns), of_namespace.waiting.begin()->first};
    of_class.ranks.insert(of_namespace.rank);
  }

  mutable std::map<Class, OfClass> classes_;  ///< no member is empty; first() updates outdated ranks
  std::size_t size_ = 0;
};

}  // namespace controllers
