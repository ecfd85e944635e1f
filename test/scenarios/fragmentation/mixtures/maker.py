#!/usr/bin/env python3
"""Clusters that have much of what makes a defragmentation hard at once, and a judge. For compare.py --maker.

maker.py make KIND SIZE SEED    prints a dump
maker.py judge DUMP PLAN        prints nodes freed, their bound, moves, waves and broken rules as one JSON object; fails
                                when a rule is broken. PLAN: evacuator simulate -o json
"""
import json
import sys

from judge import Judge
from rules import HOST, ZONE
from sites import Site, apart_from, beside, on_nodes_with, spread


def tainted_pools(site):
    """Two pools, one of them tainted, four groups apart, apps spread over zones, budgets of one, six DaemonSets."""
    chance = site.random
    is_batch = lambda number: number % 4 == 3
    tolerant = {"tolerations": [{"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}]}
    for number in range(site.size):
        taints = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}] if is_batch(number) else []
        site.add_node(number, labels={"pool": "batch" if is_batch(number) else "main"}, taints=taints)
    for app, cpu in enumerate((100, 200, 50, 150, 100, 250)):
        site.add_daemon(f"agent{app}", cpu, .25, lambda number: app < 4 or (app == 4) == is_batch(number))

    def add_web(number, sizes):
        app, cpu = chance.randrange(24), chance.choice(sizes)
        spec = dict(tolerant) if is_batch(number) else {}
        if is_batch(number) and chance.random() < .7:
            spec["nodeSelector"] = {"pool": "batch"}
        if app % 7 == 0 and not is_batch(number):
            spec["topologySpreadConstraints"] = spread(f"web{app}", 1 + app % 2)
        return site.add(number, f"web{app}", cpu, cpu / 500, **spec)

    for number in range(site.size):
        if number % 2 == 0 or chance.random() < .1:
            site.fill(number, 1, lambda: add_web(number, [200, 400, 700, 1000, 1500, 3000]))
            continue
        for group in range(4):
            if chance.random() < .5:
                site.add(number, f"quorum{group}", chance.choice([500, 1000, 2000]), 1,
                         affinity=apart_from(f"quorum{group}"), **(tolerant if is_batch(number) else {}))
        if chance.random() < .5:
            site.fill(number, .3, lambda: add_web(number, [200, 500]))
    for app in [f"quorum{group}" for group in range(4)] + [f"web{app}" for app in range(0, 24, 2)]:
        site.add_budget(app, 1)


def zonal_databases(site):
    """Databases with volumes in their zone, apart, with budgets of one; huge pods on every third node; two machines."""
    chance = site.random
    for number in range(site.size):
        site.add_node(number, cpu=chance.choice([16000, 16000, 32000]), memory=chance.choice([64, 128]))
    for app in range(3):
        site.add_daemon(f"agent{app}", 100, .5)
    groups = max(2, site.size // 10)
    for number in range(site.size):
        if number % 3 == 0:
            site.add(number, f"huge{chance.randrange(3)}", chance.choice([8000, 10000, 12000]), chance.choice([20, 30, 40]))
        for group in chance.sample(range(groups), 2) if number % 2 else []:
            site.add(number, f"db{group}", chance.choice([500, 1000, 1500]), 4, kind="StatefulSet",
                     zone=f"z{number % 3}", affinity=apart_from(f"db{group}"))
        load, gibi = chance.choice([.2, .4, .97, .97]), chance.choice([2, 3])

        def add_web():
            cpu = chance.choice([300, 600, 900, 1200, 2400])
            return site.add(number, f"web{chance.randrange(20)}", cpu, gibi * cpu / 1000)
        site.fill(number, load, add_web)
    for group in range(groups):
        site.add_budget(f"db{group}", 1)


def host_ports(site):
    """Host ports, also of a DaemonSet; two groups that repel each other, others that repel in six zones; bare pods."""
    chance = site.random
    for number in range(site.size):
        site.add_node(number, zones=6)
    site.add_daemon("agent", 100, .25)
    site.add_daemon("edge", 150, .5, lambda number: number % 3 == 1, port=9100)

    def add_web(number, sizes):
        app, cpu = chance.randrange(25), chance.choice(sizes)
        return site.add(number, f"web{app}", cpu, cpu / 500, priority=[0, 100, 1000][app % 3])

    for number in range(site.size):
        if number < site.size * .55:
            site.fill(number, 1, lambda: add_web(number, [250, 500, 800, 1300, 2600]))
            continue
        if chance.random() < .7:
            site.add(number, f"ingress{chance.randrange(2)}", 500, 1, port=chance.choice([80, 443, 8443]))
        if chance.random() < .3:
            site.add(number, "probe", 200, 1, port=9100)
        color, other = chance.choice([("red", "blue"), ("blue", "red")])
        site.add(number, color, 700, 1, affinity=apart_from(other, color))
        for group in range(max(1, site.size // 12)):
            if chance.random() < .15:
                site.add(number, f"zonal{group}", 400, 1, affinity=apart_from(f"zonal{group}", topology=ZONE))
        if chance.random() < .06:
            site.add(number, "bare", 100, .25, kind=None)


def nearly_full(site):
    """Nearly full of cpu, memory and pods at once, on four machines, with eight DaemonSets and apps spread over nodes."""
    chance = site.random
    for number in range(site.size):
        site.add_node(number, cpu=chance.choice([8000, 16000]), memory=chance.choice([32, 64]),
                      pods=chance.choice([28, 34, 40]))
    for app in range(8):
        site.add_daemon(f"agent{app}", 50 + 50 * (app % 2), .25, lambda number: app < 5 or number % 3 == app - 5)
    open_from = int(site.size * .8)
    for number in range(site.size):
        def add_web():
            app, cpu = chance.randrange(30), chance.choice([200, 400, 800, 1600])
            spec = {"topologySpreadConstraints": spread(f"web{app}", 2, HOST)} if app % 5 == 0 else {}
            return site.add(number, f"web{app}", cpu, cpu * [1, 4, 8][app % 3] / 1000, **spec)
        load = .98 if number < open_from else chance.choice([.15, .3, .5])
        site.fill(number, load, add_web, ("cpu", "memory", "pods"))
        if number >= open_from:
            site.add(number, "quorum", 600, 1, affinity=apart_from("quorum"))
    for app in range(0, 30, 5):
        site.add_budget(f"web{app}", 1)


def mixed_affinity(site):
    """Namespaces that repel one another, followers, init containers, overhead, node affinities, control planes, cordons."""
    chance, control_plane = site.random, "node-role.kubernetes.io/control-plane"
    is_master = lambda number: number % 10 == 9
    for number in range(site.size):
        taints = [{"key": control_plane, "effect": "NoSchedule"}] if is_master(number) else []
        labels = {"gen": str(1 + number % 4), **({control_plane: ""} if is_master(number) else {})}
        site.add_node(number, cpu=chance.choice([8000, 16000, 16000, 32000]), labels=labels, taints=taints,
                      cordoned=number % 20 == 13)
    site.add_daemon("agent", 100, .25)
    for number in filter(is_master, range(site.size)):
        site.add(number, "api", 1000, 2, kind=None, namespace="kube-system", tolerations=[{"operator": "Exists"}])

    def add_service(number):
        app, cpu = chance.randrange(24), chance.choice([250, 500, 1000, 2000])
        spec = [{}, {"affinity": on_nodes_with("gen", "Gt", "1")}, {"affinity": on_nodes_with("gen", "NotIn", "4")},
                {"init": cpu + 400}, {"overhead": {"cpu": "120m", "memory": "134217728"}}, {}][app % 6]
        if app % 12 == 0:
            spec["topologySpreadConstraints"] = spread(f"svc{app}", 1, minDomains=3)
        namespace = ["shop", "pay", "ops"][app % 3]
        if not site.add(number, f"svc{app}", cpu, cpu / 500, namespace=namespace, **spec):
            return False
        if chance.random() < .15:
            site.add(number, f"side{app}", 100, .25, namespace=namespace,
                     affinity=beside(f"svc{app}", chance.choice([HOST, ZONE])))
        return True

    quorums = [f"quorum{group}" for group in range(3)]
    for number in range(site.size):
        if number % 2 == 0:
            site.add(number, chance.choice(quorums), 700, 1, namespace=chance.choice(["shop", "pay"]),
                     affinity=apart_from(*quorums, namespaces=["shop", "pay"]))
        site.fill(number, chance.choice([.2, .35, .6, .97, .97]), lambda: add_service(number))
    for app in range(0, 24, 4):
        site.add_budget(f"svc{app}", 1, ["shop", "pay", "ops"][app % 3])


KINDS = {kind.__name__: kind for kind in (tainted_pools, zonal_databases, host_ports, nearly_full, mixed_affinity)}


def main():
    if sys.argv[1] == "make":
        site = Site(int(sys.argv[3]), int(sys.argv[4]))
        KINDS[sys.argv[2]](site)
        json.dump({"apiVersion": "v1", "kind": "List", "items": site.items}, sys.stdout)
        return 0
    with open(sys.argv[2]) as dump, open(sys.argv[3]) as plan:
        verdict = Judge(json.load(dump)).run(json.load(plan)["moves"])
    print(json.dumps(verdict))
    return 1 if verdict["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
