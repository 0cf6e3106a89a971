"""Mutation tests: change the code in small ways, one at a time, and count how often a test fails: `make mutants`.

mutmut creates the mutants, finds the tests that reach each function, and runs only these. This script configures it,
works on a copy of the checkout (so an interruption leaves nothing behind), draws a sample, and prints a table by
folder.

    .venv/bin/python tools/mutants.py            all mutants, which take hours
    .venv/bin/python tools/mutants.py 200 7      200 of them, the same number from each folder, drawn with seed 7
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {
    "core": "src/stackwright/core/*",
    "controllers/*/decide.py": "src/stackwright/controllers/*/decide.py",
    "controllers/infra": "src/stackwright/controllers/infra/*",
    "services": "src/stackwright/services/*",
    "runtime/queue.py": "src/stackwright/runtime/queue.py",
    "local/steps": "src/stackwright/local/steps/*",
}
TESTS = ["tests/unit"]
# These tests read the sources (which are mutated), measure memory or time of processes, or take longer than all others.
LEFT_OUT = (
    "test_layers.py", "test_sources.py", "docs/test_docs.py", "cli/test_connection.py",
    "runtime/webhook/test_certificate.py", "local/image/test_images.py", "local/image/test_recipes.py",
    "charts/mariadb/test_start.py",
    "charts/mariadb/test_bootstrap.py", "charts/test_libvirt_confine.py", "controllers/cloud/test_whole_specs.py",
    "api/test_reference_fields.py", "adapters/helm", "smoke",
)  # fmt: skip
# Exit codes of pytest and mutmut. Any other counts as not noticed, because it does not show that a test failed.
NOTICED = (1, 3)
OUT_OF_TIME = (36, 24, -24, 152, 255)  # an endless loop
SPINNER = re.compile(r"[\u2800-\u28ff] ")  # at the start of a status line
COUNT = re.compile(r"(\d+)/(\d+)\b")


def copy(to: Path) -> None:
    """The tracked files in their present state, as the only commit of a new repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():  # not those that were deleted, and no dangling link
            shutil.copy2(ROOT / name, to / name, follow_symlinks=False)
    who = ("-c", "user.name=mutants", "-c", "user.email=mutants@example.com", "-c", "commit.gpgsign=false")
    for words in (("init", "--quiet"), ("add", "--all"), (*who, "commit", "--quiet", "--message=copy")):
        subprocess.run(["git", *words], cwd=to, check=True)  # tests of benches read the commit


def configure(to: Path) -> None:
    options = ["-p", "no:cacheprovider", "--timeout=120", *(f"--ignore=tests/unit/{name}" for name in LEFT_OUT)]
    config = {
        "source_paths": ["src"],
        "only_mutate": list(FOLDERS.values()),
        "also_copy": sorted(each.name for each in to.iterdir() if each.name not in ("src", "tests")),
        "pytest_add_cli_args_test_selection": TESTS,
        "pytest_add_cli_args": options,
    }
    lines = (f"{name} = {json.dumps(value)}" for name, value in config.items())
    with (to / "pyproject.toml").open("a") as file:
        file.write("\n[tool.mutmut]\n" + "\n".join(lines) + "\n")


def mutmut(to: Path, *names: str) -> int:
    """Sets PYTHONPATH, so that child processes of tests import the mutants too."""
    env = os.environ | {"PYTHONPATH": str(to / "mutants/src")}
    command = [Path(sys.executable).with_name("mutmut"), "run", *names]
    if sys.stdout.isatty():
        return subprocess.run(command, cwd=to, env=env).returncode
    # In text mode a carriage return ends a line.
    with subprocess.Popen(command, cwd=to, env=env, stdout=subprocess.PIPE, encoding="utf-8", errors="replace") as made:
        assert made.stdout
        for line in plain(made.stdout):
            print(line, flush=True)
    return made.returncode


def plain(lines: Iterable[str]) -> Iterator[str]:
    """The output of mutmut without its spinner: changes of a status, and each twentieth of a count of mutants."""
    last: object = None
    for line in lines:
        if not (spun := SPINNER.match(line)):
            yield line.rstrip()
            continue
        status = line[spun.end() :].strip()
        count = COUNT.match(status)
        step = (count[2], 20 * int(count[1]) // max(1, int(count[2]))) if count else status
        if step != last:
            yield status
        last = step


def results(to: Path) -> dict[str, dict[str, int | None]]:
    """Folder → mutant → exit code of its tests; None if they have not run."""
    found: dict[str, dict[str, int | None]] = {folder: {} for folder in FOLDERS}
    for folder, pattern in FOLDERS.items():
        below = pattern.replace("/*", "/**/*") if pattern.endswith("/*") else pattern
        for file in sorted((to / "mutants").glob(f"{below}.meta")):
            found[folder] |= json.loads(file.read_text())["exit_code_by_key"]
    return found


def sample(mutants: dict[str, dict[str, int | None]], size: int, seed: int) -> list[str]:
    draw = random.Random(seed)  # noqa: S311
    each = size // len(mutants)
    return [name for found in mutants.values() for name in draw.sample(sorted(found), min(each, len(found)))]


def table(mutants: dict[str, dict[str, int | None]]) -> str:
    lines = [
        "| folder | mutants | tried | noticed | out of time | not noticed | score |",
        "|---|---|---|---|---|---|---|",
    ]
    total: Counter[str] = Counter()
    for folder, found in (*mutants.items(), ("all", None)):
        if found is not None:
            codes = [code for code in found.values() if code is not None]
            here = Counter(all=len(found), tried=len(codes))
            here["noticed"] = sum(code in NOTICED for code in codes)
            here["late"] = sum(code in OUT_OF_TIME for code in codes)
            total += here
        else:
            here = total
        found_out = here["noticed"] + here["late"]
        score = f"{100 * found_out / here['tried']:.0f} %" if here["tried"] else "-"
        lines.append(
            f"| {folder} | {here['all']} | {here['tried']} | {here['noticed']} | {here['late']} "
            f"| {here['tried'] - found_out} | {score} |"
        )
    return "\n".join(lines)


def main(size: int, seed: int) -> int:
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        to = Path(place)
        copy(to)
        configure(to)
        # This run creates all mutants and finds the tests of each function; no mutant has this name.
        if size:
            mutmut(to, "none")
        names = sample(results(to), size, seed)
        if size and not names:
            print("mutmut made no mutants; its words are above")
            return 1
        code = mutmut(to, *names)
        tried = results(to)
        for name in sorted(
            n
            for found in tried.values()
            for n, code in found.items()
            if not (code is None or code in NOTICED + OUT_OF_TIME)
        ):
            print(f"\n{name}", flush=True)
            subprocess.run([Path(sys.executable).with_name("mutmut"), "show", name], cwd=to)
        print(table(tried))
        return code


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(numbers + [0, 0][len(numbers) :])))
