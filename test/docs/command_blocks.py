#!/usr/bin/env python3
"""Runs the command blocks of README and docs on the built-in cluster, and compares headers and errors of what they print.

A line above each ```bash block, and above each plain block that begins with "$ ", says what becomes of it:

  <!-- run -->                          it is run; those of one page in one shell, in their order
  <!-- run NAME=value web-1=$WEB -->    with these words replaced. $WEB and $EVAC are a pod and an Evacuation ("NAME -n NAMESPACE")
  <!-- not run: why -->                 it needs what is not at hand here
  <!-- as PAGE -->                      a translation: the same commands, in the same order, as PAGE has

usage: command_blocks.py --check                  every block has such a line, and is shell
       command_blocks.py --binaries FOLDER        runs them; the last line is "N passed, N failed"
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
MARKER = re.compile(r"^\s*<!-- (run|not run:|as)(?: (.*?))? -->$")
LIMIT = 180  # seconds for one page
PREAMBLE = r"""
kubectl() {
  case " $* " in
    *" -w "*) timeout 3 kubectl "$@" || [ $? = 124 ] ;;  # until Ctrl-C
    *) command kubectl "$@" ;;
  esac
}
WEB=$(command kubectl -n shop get pods -l app=web --field-selector status.phase=Running -o name | sed -n '1s,.*/,,p')
EVAC=$(command kubectl get evacuations -A -o jsonpath='{.items[0].metadata.name} -n {.items[0].metadata.namespace}')
"""


class Block:
    def __init__(self, page, line, kind, detail, text, console):
        self.page, self.line, self.kind, self.detail, self.text, self.console = page, line, kind, detail, text, console

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
        for pair in shlex.split(self.detail) if self.kind == "run" else []:
            old, _, new = pair.partition("=")
            command = command.replace(old, new)
        return command


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
        console = language == "" and text.startswith("$ ")
        if language == "bash" or console:
            mark = MARKER.match(lines[start - 1]) if start else None
            kind, detail = (mark.group(1), mark.group(2) or "") if mark else (None, "")
            found.append(Block(page, start + 1, kind, detail, text, console))
        start = None
    return found


def without_comments(text):
    return [re.sub(r"\s+#.*$", "", line) for line in text.splitlines()]


def check(blocks):
    complaints = []
    for block in blocks:
        if block.kind is None:
            complaints.append(f"{block.at}: say above the block whether it is run (test/docs/command_blocks.py)")
        if not block.console and subprocess.run(["bash", "-n"], input=block.text, text=True, capture_output=True).returncode:
            complaints.append(f"{block.at}: is no shell")
    for page in {block.page for block in blocks if block.kind == "as"}:
        translated = [block for block in blocks if block.page == page and not block.console]
        original = [block for block in blocks if block.page == translated[0].detail and not block.console]
        if [without_comments(b.text) for b in translated] != [without_comments(b.text) for b in original]:
            complaints.append(f"{page}: has other commands than {translated[0].detail}")
    return complaints


def headers(lines):
    """What does not change from run to run: rows of column names, and errors up to the first name."""
    normal = [" ".join(line.split()) for line in lines]
    return [line for line in normal if re.fullmatch(r"[A-Z][A-Z /-]+", line)]


def script_of(blocks):
    parts = [PREAMBLE]
    for number, block in enumerate(blocks):
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
        os.killpg(shell.pid, signal.SIGKILL)  # with what it started
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
        for step, (command, expected) in enumerate(block.commands()):
            printed = headers(found[(number, step)])
            for header in headers(expected):
                if header not in printed:
                    complaints[block.at] = f"`{command}` does not print the row \"{header}\""
    return complaints


def scratch(folder):
    """What the pages expect in the working folder."""
    for name in ("config", "hack", "crds"):
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
        self.process = subprocess.Popen([str(binaries / "evacuator"), "demo", "--plain", "--duration", "forever", "--speed", "5",
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


def run(blocks, binaries):
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        demo = Demo(binaries, pathlib.Path(name))
        environment = dict(os.environ, KUBECONFIG=str(demo.kubeconfig), PATH=f"{binaries}:{os.environ['PATH']}", NO_COLOR="1")
        try:
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
        finally:
            demo.stop()
    return passed, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--binaries", type=pathlib.Path)
    parser.add_argument("pages", nargs="*")
    options = parser.parse_args()
    blocks = [block for page in pages() for block in blocks_of(page)]
    if options.check:
        complaints = check(blocks)
        print("\n".join(complaints) or "command blocks: ok")
        sys.exit(bool(complaints))
    wanted = [b for b in blocks if b.kind == "run" and (not options.pages or b.page in options.pages)]
    passed, failed = run(wanted, options.binaries.resolve())
    print(f"docs: {len(wanted)} of {len(blocks)} blocks are run; the others say why not")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)


main()
