"""What the mixtures are built from: nodes, and pods that are put where the scheduler would let them be."""
import random

import rules

GIBI = 1 << 30
BORN = "2026-01-01T00:00:00Z"
MOST_MISSES = 6  # maximum number of consecutive pods that do not fit on a node


class Site:
    def __init__(self, size, seed):
        self.random, self.size = random.Random(seed), size
        self.items, self.world, self.owners = [], rules.World([]), set()

    def keep(self, thing):
        thing["metadata"].setdefault("uid", f"uid-{len(self.items)}")
        thing["metadata"].setdefault("creationTimestamp", BORN)
        self.items.append(thing)

    def add_node(self, number, cpu=16000, memory=64, pods=110, zones=3, labels=(), taints=(), cordoned=False):
        name = f"node-{number:04d}"
        offer = {"cpu": f"{cpu}m", "memory": str(memory * GIBI), "pods": str(pods)}
        taints = list(taints)
        if cordoned:
            taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
        node = {"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": {rules.HOST: name, rules.ZONE: f"z{number % zones}", **dict(labels)}},
                "spec": {"taints": taints, "unschedulable": cordoned},
                "status": {"allocatable": offer, "capacity": offer, "conditions": [{"type": "Ready", "status": "True"}]}}
        self.keep(node)
        self.world.add(node)

    def owner_of(self, kind, app, namespace):
        key = (kind, app, namespace)
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": app, "uid": "-".join(key)}
        if key not in self.owners:
            self.owners.add(key)
            self.keep({"apiVersion": "apps/v1", "kind": kind,
                       "metadata": {"name": app, "namespace": namespace, "uid": owner["uid"]},
                       "spec": {"replicas": 1, "selector": {"matchLabels": {"app": app}}}, "status": {}})
        return {**owner, "controller": True}

    def add(self, number, app, cpu, gibi, kind="ReplicaSet", namespace="default", port=None, init=None, zone=None, **spec):
        """True: the pod is there; else some rule is in the way. `zone`: of a volume of its own."""
        node, name = f"node-{number:04d}", f"{app}-{len(self.items):06d}"
        container = {"name": "main", "image": "img",
                     "resources": {"requests": {"cpu": f"{cpu}m", "memory": str(int(gibi * GIBI))}}}
        if port:
            container["ports"] = [{"containerPort": port, "hostPort": port, "protocol": "TCP"}]
        if init:
            spec["initContainers"] = [{"name": "init", "image": "img", "resources": {"requests": {"cpu": f"{init}m"}}}]
        pod = {"apiVersion": "v1", "kind": "Pod",
               "metadata": {"name": name, "namespace": namespace, "labels": {"app": app}},
               "spec": {"nodeName": node, "containers": [container], **spec},
               "status": {"phase": "Running", "startTime": BORN, "conditions": [{"type": "Ready", "status": "True"}]}}
        volume = self.volume_of(pod, zone) if zone else []
        for thing in [*volume, pod]:
            self.world.add(thing)
        if not self.may_arrive((namespace, name), node):
            self.world.forget((namespace, name))
            return False
        if kind:
            pod["metadata"]["ownerReferences"] = [self.owner_of(kind, app, namespace)]
        for thing in [*volume, pod]:
            self.keep(thing)
        self.world.put((namespace, name), node)
        return True

    def volume_of(self, pod, zone):
        namespace, name = rules.name_of(pod)
        claim = f"data-{name}"
        pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
        terms = [{"matchExpressions": [{"key": rules.ZONE, "operator": "In", "values": [zone]}]}]
        return [{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                 "metadata": {"name": claim, "namespace": namespace}, "spec": {"volumeName": f"pv-{claim}"}},
                {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pv-{claim}"},
                 "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}]

    def may_arrive(self, name, node):
        world = self.world
        return (world.has_room(name, node) and world.may_be_on(name, node) and world.has_ports(name, node) and
                not world.is_repelled(name, node) and world.finds_company(name, node) and world.is_spread(name, node))

    def add_daemon(self, app, cpu, gibi, on=lambda number: True, **spec):
        for number in filter(on, range(self.size)):
            self.add(number, app, cpu, gibi, kind="DaemonSet", tolerations=[{"operator": "Exists"}], **spec)

    def fill(self, number, load, add, resources=("cpu",)):
        """Calls add() until so much of one of the resources is taken, or the node takes nothing more."""
        node, misses = f"node-{number:04d}", 0
        used, capacity = self.world.used[node], self.world.capacity[node]
        while misses < MOST_MISSES and all(used[each] < load * capacity[each] for each in resources):
            misses = 0 if add() else misses + 1

    def add_budget(self, app, allowed, namespace="default"):
        self.keep({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app, "namespace": namespace},
                   "spec": {"maxUnavailable": allowed, "selector": {"matchLabels": {"app": app}}},
                   "status": {"disruptionsAllowed": allowed, "currentHealthy": 9, "desiredHealthy": 9 - allowed,
                              "expectedPods": 9, "observedGeneration": 1}})


def required(kind, *terms):
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def apart_from(*apps, topology=rules.HOST, **term):
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": list(apps)}]}
    return required("podAntiAffinity", {"labelSelector": selector, "topologyKey": topology, **term})


def beside(app, topology):
    return required("podAffinity", {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": topology})


def on_nodes_with(key, operator, value):
    terms = [{"matchExpressions": [{"key": key, "operator": operator, "values": [value]}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def spread(app, skew, topology=rules.ZONE, **more):
    return [{"maxSkew": skew, "topologyKey": topology, "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": {"matchLabels": {"app": app}}, **more}]
