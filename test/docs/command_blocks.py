#!/usr/bin/env python3
"""Runs the command blocks of README and docs, and compares what they print with what the page shows.

A line above each block of shell, and above each block that begins with "$ ", says what becomes of it:

  <!-- run -->                          it is run on the built-in cluster; those of one page in one shell, in their order
  <!-- run on a cluster -->             it is run on a real Kubernetes, in which the operator is not installed
  <!-- run by FILE: TEXT -->            that test or script does the same; both contain TEXT
  <!-- not run: why -->                 it needs what is not at hand here
  <!-- as PAGE -->                      a translation: the same commands, in the same order, as PAGE has

The two that are run take words: NAME=value and web-1=$WEB are replaced ($WEB and $EVAC are a pod and an Evacuation,
"NAME -n NAMESPACE"; $OVERLAY is the overlay of config/ for the server). Lines <!-- before: command --> above it are run first. Of what a command prints, the first line, all
rows of column names and all errors are compared, by their form: numbers and names with digits count as alike. The word
"whole" compares all lines, the word "loose" rows of column names alone; a line with … is not compared. prints=TEXT demands
that text of the block's last command.

usage: command_blocks.py --check                                every block has such a line, and is shell
       command_blocks.py --binaries FOLDER [PAGE...]            runs those for the built-in cluster
       command_blocks.py --binaries FOLDER --kubeconfig FILE    runs those for a real one
The last line is "N passed, N failed".
"""
import argparse
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARKER = re.compile(r"^\s*<!-- (run on a cluster|run by|run|not run:|as)(?: (.*?))? -->$")
BEFORE = re.compile(r"^\s*<!-- before: (.*) -->$")
SHELLS = ("bash", "sh", "shell")
LIMIT = 180  # seconds for one page
PREAMBLE = r"""
kubectl() {
  case " $* " in
    *" -w "*) timeout 3 kubectl "$@" || [ $? = 124 ] ;;  # until Ctrl-C
    *) command kubectl "$@" ;;
  esac
}
WEB=$(command kubectl -n shop get pods -l app=web --field-selector status.phase=Running -o name | sed -n '1s,.*/,,p')
EVAC=$(command kubectl get evacuations -A -o jsonpath='{.items[0].metadata.name} -n {.items[0].metadata.namespace}' || true)
OVERLAY=$(hack/image/overlay_of.sh)
"""


class Block:
    def __init__(self, page, line, kind, detail, before, text, console):
        self.page, self.line, self.kind, self.before, self.text, self.console = page, line, kind, before, text, console
        self.detail = detail
        words = shlex.split(detail) if kind in ("run", "run on a cluster") else []
        pairs = [word.partition("=")[::2] for word in words if "=" in word]
        self.replacements = [pair for pair in pairs if pair[0] != "prints"]
        self.prints = [text for name, text in pairs if name == "prints"]
        self.compared = next((word for word in words if word in ("whole", "loose")), "first")

    @property
    def at(self):
        return f"{self.page}:{self.line}"

    def commands(self):
        """(command, lines that it is shown to print)"""
        if not self.console:
            return [(self.text, [])]
        found = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
        return found

    def replaced(self, command):
        for old, new in self.replacements:
            command = command.replace(old, new)
        return command

    def complaint_of_other(self):
        """Of <!-- run by FILE: TEXT -->"""
        file, _, text = self.detail.partition(": ")
        if not text or text not in self.text:
            return f"{self.at}: the block does not contain \"{text}\""
        if not (ROOT / file).is_file() or text not in (ROOT / file).read_text():
            return f"{self.at}: {file} does not contain \"{text}\""
        return None


def pages():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "README*.md", "docs/*.md"],
                            cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [page for page in listed if not page.startswith("docs/adr/")]


def blocks_of(page):
    lines = (ROOT / page).read_text().splitlines()
    found, start = [], None
    for number, line in enumerate(lines):
        fence = re.match(r"^ *```(\w*)$", line)
        if not fence:
            continue
        if start is None:
            start, language = number, fence.group(1)
            continue
        text = "\n".join(lines[start + 1:number]) + "\n"
        console = language in ("", "console") and text.startswith("$ ")
        if language in SHELLS or console:
            mark = MARKER.match(lines[start - 1]) if start else None
            kind, detail = (mark.group(1), mark.group(2) or "") if mark else (None, "")
            found.append(Block(page, start + 1, kind, detail, commands_before(lines, start - 1), text, console))
        start = None
    return found


def commands_before(lines, mark):
    found = []
    while mark > 0 and (command := BEFORE.match(lines[mark - 1])):
        found.insert(0, command.group(1))
        mark -= 1
    return found


def without_comments(text):
    return [re.sub(r"\s+#.*$", "", line) for line in text.splitlines()]


def bare_commands(block):
    return [without_comments(command) for command, _ in block.commands()]


def check(blocks):
    complaints = []
    for block in blocks:
        if block.kind is None:
            complaints.append(f"{block.at}: say above the block whether it is run (test/docs/command_blocks.py)")
        if not block.console and subprocess.run(["bash", "-n"], input=block.text, text=True, capture_output=True).returncode:
            complaints.append(f"{block.at}: is no shell")
        if block.kind == "run by" and (complaint := block.complaint_of_other()):
            complaints.append(complaint)
    for page in {block.page for block in blocks if block.kind == "as"}:
        translated = [block for block in blocks if block.page == page]
        original = [block for block in blocks if block.page == next(b.detail for b in translated if b.kind == "as")]
        if [bare_commands(b) for b in translated] != [bare_commands(b) for b in original]:
            complaints.append(f"{page}: has other commands than {translated[0].detail}")
    return complaints


def form_of(line):
    """Without what changes from run to run: numbers, names with digits, bars, how wide columns are, a terminal's codes."""
    line = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[█░]+", "", line)
    line = re.sub(r"\b[a-z0-9]+(-[a-z0-9]+)*-[a-z0-9]*\d[a-z0-9]*(-[a-z0-9]+)*\b", "NAME", line)
    line = re.sub(r"\b[a-z]+(-[a-z0-9]{5,10}){2,}\b", "NAME", line)
    return " ".join(re.sub(r"\d+([.:]\d+)*", "0", line).split())


def is_header(line):
    return re.fullmatch(r"[A-Z][A-Z /-]+", " ".join(line.split())) is not None


def compared_lines(expected, how):
    lines = [line for line in expected if line.strip() and "…" not in line]
    if how == "whole":
        return lines
    first = lines[:1] if how == "first" and expected and expected[0] in lines else []
    return first + [line for line in lines if is_header(line) or line.startswith(("error: ", "Error "))]


def script_of(blocks):
    parts = [PREAMBLE]
    for number, block in enumerate(blocks):
        parts += block.before
        for step, (command, _) in enumerate(block.commands()):
            parts.append(f"echo; echo '@@ {number} {step}'\n{block.replaced(command)}")
    return "set -eo pipefail\n" + "\n".join(parts) + "\necho; echo '@@ end'\n"


def outputs_of(text):
    found, at = {}, None
    for line in text.splitlines():
        mark = re.fullmatch(r"@@ (\d+) (\d+)|@@ end", line)
        if mark:
            at = (int(mark.group(1)), int(mark.group(2))) if mark.group(1) else "end"
            found[at] = []
        elif at in found:
            found[at].append(line)
    return found


def run_page(blocks, environment, folder):
    shell = subprocess.Popen(["bash", "-c", script_of(blocks)], cwd=folder, env=environment, text=True, start_new_session=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, errors="replace")
    try:
        text, _ = shell.communicate(timeout=LIMIT)
        why = f"ended with {shell.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)  # including its child processes
        text, _ = shell.communicate()
        why = f"did not end within {LIMIT} s"
    found = outputs_of(text)
    complaints = {}
    for number, block in enumerate(blocks):
        following = (number + 1, 0) if number + 1 < len(blocks) else "end"
        if following not in found:
            shown = "\n".join("    " + line for line in text.splitlines()[-15:])
            complaints[block.at] = f"{why}:\n{shown}"
            continue
        last = "\n".join(found[(number, len(block.commands()) - 1)])
        for text in block.prints:
            if text not in last:
                complaints[block.at] = f"does not print \"{text}\":\n{last}"
        for step, (command, expected) in enumerate(block.commands()):
            printed = [form_of(line) for line in found[(number, step)]]
            for line in compared_lines(expected, block.compared):
                if form_of(line) not in printed:
                    shown = "\n".join("    " + each for each in found[(number, step)][:15])
                    complaints[block.at] = complaints.get(block.at, "") + f"\n  `{command}` does not print a line like \"{line}\":\n{shown}"
    return complaints


def scratch(folder):
    """What the pages expect in the working folder."""
    for name in ("config", "hack", "crds", "test"):
        (folder / name).symlink_to(ROOT / name)
    sample = (ROOT / "config/samples/policy-lownodeutilization.yaml").read_text()
    for name in ("policy.yaml", "new.yaml"):
        (folder / name).write_text(sample)
    (folder / "upstream.yaml").write_text("""apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: tidy
    pluginConfig:
      - name: PodLifeTime
        args: {maxPodLifeTimeSeconds: 86400}
    plugins:
      deschedule: {enabled: [PodLifeTime]}
""")


class Demo:
    def __init__(self, binaries, folder):
        self.kubeconfig = folder / "kubeconfig"
        self.log = open(folder / "demo.log", "w")
        self.process = subprocess.Popen([str(binaries / "evacuator-demo"), "--plain", "--duration", "forever", "--speed", "5",
                                         "--kubeconfig-out", str(self.kubeconfig)], stdout=self.log, stderr=self.log)
        asks = ["kubectl", f"--kubeconfig={self.kubeconfig}", "get", "evacuations", "-A", "-o", "name"]
        for _ in range(600):
            ready = self.kubeconfig.exists() and subprocess.run(asks, capture_output=True, text=True).stdout
            if ready:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        sys.exit("the demonstration made no Evacuation:\n" + (folder / "demo.log").read_text()[-2000:])

    def stop(self):
        self.process.terminate()
        self.process.wait()


def run(blocks, binaries, kubeconfig):
    passed = failed = 0
    environment = dict(os.environ, KUBECONFIG=str(kubeconfig), PATH=f"{binaries}:{os.environ['PATH']}", NO_COLOR="1")
    for page in dict.fromkeys(block.page for block in blocks):
        with tempfile.TemporaryDirectory() as at:
            scratch(pathlib.Path(at))
            mine = [block for block in blocks if block.page == page]
            complaints = run_page(mine, environment, at)
        passed += len(mine) - len(complaints)
        failed += len(complaints)
        for at, why in complaints.items():
            print(f"{at}: {why}")
        print(f"docs: {page}: {len(mine) - len(complaints)} of {len(mine)}")
    return passed, failed


def run_on_demo(blocks, binaries):
    with tempfile.TemporaryDirectory() as name:
        demo = Demo(binaries, pathlib.Path(name))
        try:
            return run(blocks, binaries, demo.kubeconfig)
        finally:
            demo.stop()


def tell(blocks):
    names = {"run": "here", "run on a cluster": "on a real cluster", "run by": "by another test", "as": "translations"}
    counts = [f"{sum(block.kind == kind for block in blocks)} {name}" for kind, name in names.items()]
    print(f"docs: of {len(blocks)} blocks are run: {', '.join(counts)}; the others say why not")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--binaries", type=pathlib.Path)
    parser.add_argument("--kubeconfig", type=pathlib.Path)
    parser.add_argument("pages", nargs="*")
    options = parser.parse_args()
    blocks = [block for page in pages() for block in blocks_of(page)]
    if options.check:
        complaints = check(blocks)
        print("\n".join(complaints) or "command blocks: ok")
        sys.exit(bool(complaints))
    kind = "run on a cluster" if options.kubeconfig else "run"
    wanted = [b for b in blocks if b.kind == kind and (not options.pages or b.page in options.pages)]
    binaries = options.binaries.resolve()
    play = run(wanted, binaries, options.kubeconfig.resolve()) if options.kubeconfig else run_on_demo(wanted, binaries)
    tell(blocks)
    print(f"{play[0]} passed, {play[1]} failed")
    sys.exit(play[1] > 0 or play[0] == 0)


main()
