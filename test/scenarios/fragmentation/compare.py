#!/usr/bin/env python3
"""Has `evacuator simulate` plan for generated clusters, and a judge that knows nothing of us replay the plans.

compare.py --maker frag.py [--evacuator build/release/cmd/evacuator] [--kinds …] [--sizes …] [--seeds N] [--check]

The maker is a script of its own: `maker make KIND SIZE SEED` prints a dump, `maker judge DUMP PLAN` prints one JSON object with
nodes freed, their bound, moves and broken rules. Without one it fails. mixtures/maker.py is one; others may be no part of this
repository.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

POLICY = """apiVersion: evacuator.dev/v1alpha1
kind: DeschedulerPolicy
metadata: {{name: defragment}}
spec:
  strategies:
  - {{name: Defragmentation, args: {{timeBudget: {budget}}}}}
  evictability: {{nodeFit: true}}
"""


def plan(args, policy, dump, out):
    """Writes the plan to `out`; seconds of processor time and of the clock."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with open(out, "w") as sink:
        subprocess.run([args.evacuator, "simulate", "--policy", policy, "--snapshot", dump, "-o", "json"],
                       stdout=sink, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - begin


def compare(args, folder, policy, kind, size, seed):
    """True: the aims are met: 95 % of the bound, no broken rule, on classic at most 2.2 moves a freed node."""
    dump, out = str(folder / "dump.json"), str(folder / "plan.json")
    with open(dump, "w") as sink:
        subprocess.run([sys.executable, args.maker, "make", kind, str(size), str(seed)], stdout=sink, check=True)
    busy, elapsed = plan(args, policy, dump, out)
    judged = subprocess.run([sys.executable, args.maker, "judge", dump, out], stdout=subprocess.PIPE)
    verdict = json.loads(judged.stdout)
    freed, bound, moves = verdict["freed"], verdict["bound"], verdict["moves"]
    met = args.rules_only or freed * 100 >= bound * 95
    met = met and verdict["broken"] == 0 and (kind != "classic" or moves * 10 <= freed * 22)
    print(f"{kind:8} {size:5} seed {seed}  freed {freed:4} of {bound:4}  {moves:5} moves, {moves / max(freed, 1):.2f} a node  "
          f"{busy:6.2f} s cpu, {elapsed:6.2f} s" + ("" if met else "  MISSED") +
          (f"  broken: {verdict['first_broken']}" if verdict["broken"] else ""), flush=True)
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maker", default=os.environ.get("FRAGMENTATION_MAKER", ""))
    parser.add_argument("--evacuator", default="build/release/cmd/evacuator")
    parser.add_argument("--kinds", default="classic,sizes,apps,zones,mixed")
    parser.add_argument("--sizes", default="10,20,50,200,1000")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", default="10s")
    parser.add_argument("--rules-only", action="store_true", help="miss an aim only where a rule is broken")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if not os.path.exists(args.maker):
        print("no maker of clusters: --maker or FRAGMENTATION_MAKER", file=sys.stderr)
        return 2
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        policy = folder / "policy.yaml"
        policy.write_text(POLICY.format(budget=args.budget))
        for kind in args.kinds.split(","):
            for size in args.sizes.split(","):
                for seed in range(1, args.seeds + 1):
                    missed += not compare(args, folder, str(policy), kind, int(size), seed)
    print(f"{missed} missed an aim")
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
