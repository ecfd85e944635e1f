"""Replays a plan wave by wave. In a wave each pod is on its old node and on its new one, and may be on neither."""
import collections
import math

import rules

MOST_TOLD = 5


class Judge:
    def __init__(self, dump):
        self.world = rules.World(dump["items"])
        self.broken, self.told, self.moved = 0, [], set()

    def complain(self, text):
        self.broken += 1
        if len(self.told) < MOST_TOLD:
            self.told.append(text)

    def run(self, moves):
        before, needed = self.world.busy(), nodes_needed(self.world)
        waves = collections.defaultdict(list)
        for move in moves:
            waves[move["wave"]].append(((move["namespace"], move["pod"]), move["from"], move["to"]))
        if [move["wave"] for move in moves] != sorted(move["wave"] for move in moves):
            self.complain("waves are out of order")
        for number, wave in waves.items():
            self.run_wave(number, wave)
        freed, bound = len(before) - len(self.world.busy()), len(before) - needed
        return {"nodes": len(self.world.nodes), "busy_before": len(before), "freed": freed, "bound": bound,
                "moves": len(moves), "waves": len(waves), "broken": self.broken, "first_broken": self.told}

    def run_wave(self, number, wave):
        spent, moving = collections.Counter(), frozenset(move[0] for move in wave)
        for name, source, target in wave:
            self.check_departure(number, name, source, spent)
            self.check_arrival(number, name, target)
            self.world.put(name, target)
        for name, source, target in wave:
            self.check_flight(number, name, target, moving)
        for name, source, target in wave:
            self.world.take(name, source)

    def check_departure(self, number, name, source, spent):
        pod = self.world.pods[name]
        if self.world.places[name] != [source] or name in self.moved:
            self.complain(f"wave {number}: {name} is not on {source}, or moves twice")
        if rules.has_to_stay(pod) or rules.goes_with_node(pod):
            self.complain(f"wave {number}: {name} may not move")
        self.moved.add(name)
        for budget in self.world.budgets:
            meta = budget["metadata"]
            if meta["namespace"] != name[0] or not rules.selects(budget["spec"]["selector"], pod["metadata"]["labels"]):
                continue
            spent[meta["name"]] += 1
            if spent[meta["name"]] > budget["status"]["disruptionsAllowed"]:
                self.complain(f"wave {number}: {meta['name']} is overdrawn")

    def check_arrival(self, number, name, target):
        world = self.world
        for is_kept, what in ((world.may_be_on(name, target), "may not be"), (world.has_ports(name, target), "lacks a port"),
                              (not world.is_repelled(name, target), "is repelled"),
                              (world.is_spread(name, target), "is skewed")):
            if not is_kept:
                self.complain(f"wave {number}: {name} {what} on {target}")

    def check_flight(self, number, name, target, moving):
        """With all moves of the wave under way."""
        world = self.world
        for is_kept, what in ((world.has_room(name, target, is_there=True), "lacks room"),
                              (not world.is_repelled(name, target), "is repelled"),
                              (world.finds_company(name, target, moving), "finds nobody that it asks for"),
                              (world.is_spread(name, target, moving), "is skewed")):
            if not is_kept:
                self.complain(f"wave {number}: {name} {what} on {target}, while others are on their way")


def nodes_needed(world):
    """Whatever moves: by what is requested, by pods that repel their own kind, and by those that stay."""
    movable = [name for name, pod in world.pods.items() if not rules.goes_with_node(pod)]
    needed = len({world.places[name][0] for name in movable if rules.has_to_stay(world.pods[name])})
    for resource in ("cpu", "memory", "pods"):
        needed = max(needed, nodes_for(world, movable, resource))
    apart = collections.Counter()
    for name in movable:
        pod = world.pods[name]
        for term in rules.terms(pod, "podAntiAffinity"):
            if rules.covers(term, pod, pod):
                apart[name[0], str(term)] += 1
    return max([needed, *apart.values()])


def nodes_for(world, movable, resource):
    wanted = [world.requests[name][resource] for name in movable]
    left, divisor = sum(wanted), math.gcd(*wanted)
    rooms = []
    for node, capacity in world.capacity.items():
        kept = sum(world.requests[name][resource] for name in world.on[node] if rules.goes_with_node(world.pods[name]))
        rooms.append((capacity[resource] - kept) // divisor * divisor if divisor else 0)
    count = 0
    for room in sorted(rooms, reverse=True):
        if left <= 0:
            break
        left, count = left - room, count + 1
    return count
