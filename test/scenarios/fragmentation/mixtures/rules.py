"""The scheduler's filters on plain API objects, and where pods are. Written for the judge: it knows nothing of the planner."""
import collections

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
CRITICAL = 2_000_000_000


def amount(name, text):
    """In thousandths for cpu, else in units."""
    text = str(text)
    if name != "cpu":
        return int(text)
    return int(text[:-1]) if text.endswith("m") else int(float(text) * 1000)


def amounts(requests):
    return collections.Counter({name: amount(name, text) for name, text in requests.items()})


def requests_of(pod):
    """Containers together or the largest init container, and the overhead."""
    spec = pod["spec"]
    total = collections.Counter()
    for container in spec["containers"]:
        total.update(amounts(container["resources"]["requests"]))
    for container in spec.get("initContainers", []):
        total |= amounts(container["resources"]["requests"])
    total.update(amounts(spec.get("overhead", {})))
    total["pods"] = 1
    return total


def holds(requirement, labels):
    value, values = labels.get(requirement["key"]), requirement.get("values", [])
    operator = requirement["operator"]
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator == "Gt":
        return value is not None and int(value) > int(values[0])
    return (value is not None) == (operator == "Exists")


def selects(selector, labels):
    return (all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and
            all(holds(each, labels) for each in selector.get("matchExpressions", [])))


def any_term(node_selector, labels):
    return any(all(holds(each, labels) for each in term["matchExpressions"])
               for term in node_selector["nodeSelectorTerms"])


def terms(pod, kind):
    return pod["spec"].get("affinity", {}).get(kind, {}).get("requiredDuringSchedulingIgnoredDuringExecution", [])


def matches_node(pod, node):
    labels = node["metadata"]["labels"]
    required = terms(pod, "nodeAffinity")
    return (selects({"matchLabels": pod["spec"].get("nodeSelector", {})}, labels) and
            (not required or any_term(required, labels)))


def tolerates(pod, taint):
    def covers(each):
        if each.get("effect", taint["effect"]) != taint["effect"]:
            return False
        if each.get("operator", "Equal") == "Exists":
            return each.get("key", taint["key"]) == taint["key"]
        return each["key"] == taint["key"] and each.get("value", "") == taint.get("value", "")
    return taint["effect"] == "PreferNoSchedule" or any(covers(each) for each in pod["spec"].get("tolerations", []))


def ports_of(pod):
    return {port["hostPort"] for container in pod["spec"]["containers"] for port in container.get("ports", [])}


def covers(term, owner, other):
    namespaces = term.get("namespaces", [owner["metadata"]["namespace"]])
    return other["metadata"]["namespace"] in namespaces and selects(term["labelSelector"], other["metadata"]["labels"])


def name_of(pod):
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def goes_with_node(pod):
    return any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences", []))


def has_to_stay(pod):
    return not pod["metadata"].get("ownerReferences") or pod["spec"].get("priority", 0) >= CRITICAL


class World:
    """Who is where. A pod on its way is on two nodes."""

    def __init__(self, objects):
        self.nodes, self.capacity, self.used, self.on = {}, {}, {}, {}
        self.pods, self.requests, self.places = {}, {}, collections.defaultdict(list)
        self.volumes, self.claims, self.budgets, self.repelling = {}, {}, [], set()
        for each in objects:
            self.add(each)
        for name, pod in self.pods.items():
            self.put(name, pod["spec"]["nodeName"])

    def add(self, thing):
        kind, name = thing["kind"], thing["metadata"]["name"]
        if kind == "Node":
            self.nodes[name], self.used[name], self.on[name] = thing, collections.Counter(), set()
            self.capacity[name] = amounts(thing["status"]["allocatable"])
        elif kind == "Pod":
            self.pods[name_of(thing)], self.requests[name_of(thing)] = thing, requests_of(thing)
            if terms(thing, "podAntiAffinity"):
                self.repelling.add(name_of(thing))
        elif kind == "PersistentVolume":
            self.volumes[name] = thing
        elif kind == "PersistentVolumeClaim":
            self.claims[name_of(thing)] = thing
        elif kind == "PodDisruptionBudget":
            self.budgets.append(thing)

    def forget(self, name):
        del self.pods[name], self.requests[name]
        self.repelling.discard(name)

    def put(self, name, node):
        self.on[node].add(name)
        self.places[name].append(node)
        self.used[node].update(self.requests[name])

    def take(self, name, node):
        self.on[node].discard(name)
        self.places[name].remove(node)
        self.used[node].subtract(self.requests[name])

    def busy(self):
        return {node for node, pods in self.on.items() if any(not goes_with_node(self.pods[pod]) for pod in pods)}

    def domain(self, node, topology):
        return self.nodes[node]["metadata"]["labels"].get(topology)

    def near(self, node, topology):
        """The pods in the domain of a node."""
        if topology == HOST:
            return set(self.on[node])
        domain = self.domain(node, topology)
        return {pod for each in self.nodes if self.domain(each, topology) == domain for pod in self.on[each]}

    # --- one rule each; the pod itself is ignored on its current node

    def has_room(self, name, node, is_there=False):
        return all(self.used[node][resource] + (0 if is_there else wanted) <= self.capacity[node][resource]
                   for resource, wanted in self.requests[name].items() if wanted)

    def may_be_on(self, name, node):
        pod, there = self.pods[name], self.nodes[node]
        return (matches_node(pod, there) and self.reaches_volumes(pod, there) and
                all(tolerates(pod, taint) for taint in there["spec"]["taints"]))

    def reaches_volumes(self, pod, node):
        for volume in pod["spec"].get("volumes", []):
            claim = self.claims[pod["metadata"]["namespace"], volume["persistentVolumeClaim"]["claimName"]]
            required = self.volumes[claim["spec"]["volumeName"]]["spec"]["nodeAffinity"]["required"]
            if not any_term(required, node["metadata"]["labels"]):
                return False
        return True

    def has_ports(self, name, node):
        wanted = ports_of(self.pods[name])
        return not any(other != name and wanted & ports_of(self.pods[other]) for other in self.on[node])

    def is_repelled(self, name, node):
        pod = self.pods[name]
        for term in terms(pod, "podAntiAffinity"):
            if any(other != name and covers(term, pod, self.pods[other])
                   for other in self.near(node, term["topologyKey"])):
                return True
        for other in self.repelling - {name}:
            owner = self.pods[other]
            for term in terms(owner, "podAntiAffinity"):
                key = term["topologyKey"]
                if covers(term, owner, pod) and any(self.domain(each, key) == self.domain(node, key)
                                                    for each in self.places[other]):
                    return True
        return False

    def finds_company(self, name, node, moving=frozenset()):
        """Of the pods that it asks for one is there, and none of `moving`: those may be nowhere."""
        pod = self.pods[name]
        return all(any(other != name and other not in moving and covers(term, pod, self.pods[other])
                       for other in self.near(node, term["topologyKey"]))
                   for term in terms(pod, "podAffinity"))

    def is_spread(self, name, node, moving=frozenset()):
        return all(self.keeps(constraint, name, node, moving)
                   for constraint in self.pods[name]["spec"].get("topologySpreadConstraints", []))

    def keeps(self, constraint, name, node, moving):
        """Wherever those of `moving` are by then: on both nodes, or on neither."""
        pod, key = self.pods[name], constraint["topologyKey"]
        counted = {each: self.domain(each, key) for each, there in self.nodes.items() if matches_node(pod, there)}
        most = collections.Counter({domain: 0 for domain in counted.values()})
        least = collections.Counter(most)
        for other, places in self.places.items():
            if other == name or other[0] != name[0]:
                continue
            if not selects(constraint["labelSelector"], self.pods[other]["metadata"]["labels"]):
                continue
            domains = {counted[each] for each in places if each in counted}
            most.update(domains)
            if other not in moving:
                least.update(domains)
        fewest = min((least if moving else most).values())
        if len(most) < constraint.get("minDomains", 1):
            fewest = 0
        return most[self.domain(node, key)] + 1 - fewest <= constraint["maxSkew"]
