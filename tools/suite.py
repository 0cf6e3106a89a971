"""Run the tests: `test` as CI does, `all` of them, the `e2e` core or one pack; `durations` of the last run.

The cloud starts in the background while style, types, pure and functional tests run. Then the core runs, then packs on
the same cloud, then the core's end, and last the packs that need another cloud. Test results of each step are in
out/junit, the log of the cloud's start is out/up.log.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from xml.etree import ElementTree

import packs
from packs import CORE, ROOT, Pack, Run

from stackwright.core.kubernetes.versions import OLDEST_TEXT
from stackwright.local import tools
from stackwright.local.cluster import state
from stackwright.local.config import LocalCluster

OUT = ROOT / "out"
JUNIT = OUT / "junit"
UP_LOG = OUT / "up.log"
CLOUDS = ROOT / "tests/e2e/clouds.py"
BROWSER = ROOT / "tests/e2e/browser.py"
STACKWRIGHT = Path(sys.executable).with_name("stackwright")
END = CORE / "test_10_end.py"
UNREAD = (
    "tests/unit/",
    "tests/rotation.py",
    "tests/scenario/",
    "tests/e2e/core/",
    "tests/e2e/packs/",
    "tests/e2e/record.json",
    "tools/packs.py",
    "tools/suite.py",
)
"""What a pack does not read, unless it is its own or its declaration names it."""
SELECTING = (
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "TEMPEST",
    "SWEEP",
    "STACKWRIGHT_TEST_SEEDS",
    "STACKWRIGHT_TEST_KUBECONFIG",
    "UPDATE_GOLDEN",
)
"""Environment variables that select, deselect or change tests. `make` sets PACK, which only names the pack."""
UP_LIMIT = 3600
STOP_LIMIT = 120
INTERRUPTED = 130


def run(*command: str | Path, env: dict[str, str] | None = None) -> int:
    """Run a program in its own session, so that Ctrl-C reaches it and its children only once, through `stop`."""
    words = [str(word) for word in command]
    process = subprocess.Popen(words, cwd=ROOT, env={**os.environ, **(env or {})}, start_new_session=True)
    try:
        return process.wait()
    except KeyboardInterrupt:
        stop(process)
        raise


def stop(process: subprocess.Popen[bytes]) -> None:
    """Send SIGINT, so that the program can clean up; kill it if it does not end."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_LIMIT)
            return


# ---- the history


def git(*words: str) -> str | None:
    """None if git fails or the history lacks the commit."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, errors="surrogateescape")
    return done.stdout.rstrip("\n") if done.returncode == 0 else None


def paths_of(*words: str) -> list[str]:
    """The paths that a command of git lists with `-z`, which quotes no character; none if git fails."""
    return [path for path in (git(*words) or "").split("\0") if path]


def is_whole() -> bool:
    """Whether the history is complete; in a shallow clone it is not."""
    return git("rev-parse", "--is-shallow-repository") == "false"


def is_clean() -> bool:
    """Whether the working tree equals the commit; the record itself does not count."""
    status = git("status", "--porcelain", "--untracked-files=all", "--", ".", f":!{packs.RECORD.relative_to(ROOT)}")
    return status == ""


def unrecorded() -> str:
    """Why a run is not recorded; empty if it is."""
    if found := [name for name in SELECTING if os.environ.get(name)]:
        return f"{', '.join(found)} may select other tests"
    return "" if is_clean() else "what ran is not what is committed"


def since(commit: str) -> int | None:
    """Commits of the main line since then: a merge counts once, however many commits it brings."""
    count = git("rev-list", "--count", "--first-parent", f"{commit}..HEAD")
    return int(count) if count is not None else None


def ages(known: list[Pack], record: packs.Record) -> dict[str, int | None]:
    """Pack → commits since it passed, or since it was added if it never passed."""
    found = {}
    for pack in known:
        commit = record.get(pack.name, Run()).passed
        if not commit:
            declared = (pack.folder / "pack.toml").relative_to(ROOT).as_posix()
            added = (git("log", "--diff-filter=A", "--format=%H", "--", declared) or "").splitlines()
            commit = added[-1] if added else "HEAD"
        found[pack.name] = since(commit)
    return found


def changes(known: list[Pack], record: packs.Record) -> dict[str, list[str]]:
    """Pack → paths changed since it passed; empty if it never passed or the history is incomplete.

    Files that are neither committed nor ignored are included, and both paths of a renamed file.
    """
    commits = {pack.name: record.get(pack.name, Run()).passed for pack in known}
    new = paths_of("ls-files", "--others", "--exclude-standard", "-z")
    paths = {
        commit: paths_of("diff", "--name-only", "--no-renames", "-z", commit) + new
        for commit in set(commits.values()) - {""}
    }
    return {name: paths.get(commit, []) for name, commit in commits.items()}


def read_record() -> dict[str, Run]:
    return packs.read(packs.RECORD.read_text()) if packs.RECORD.exists() else {}


# ---- steps


@dataclass
class Suite:
    """The steps with minutes and results; a failed step does not end the others.

    late     step → declared minutes of a pack that took longer
    limit    minutes after which no pack may end
    omitted  packs that had no time
    """

    steps: list[tuple[str, float, bool]] = field(default_factory=list)
    late: dict[str, float] = field(default_factory=dict)
    limit: float = math.inf
    omitted: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def step(self, name: str, *command: str | Path, env: dict[str, str] | None = None) -> bool:
        print(f"\n==== {name}", flush=True)
        start = time.monotonic()
        passed = run(*command, env=env) == 0
        self.add(name, start, passed)
        return passed

    def add(self, name: str, start: float, passed: bool) -> None:
        self.steps.append((name, (time.monotonic() - start) / 60, passed))

    def pytest(self, name: str, *words: str | Path) -> bool:
        junit = JUNIT / f"{name}.xml"
        command = (sys.executable, "-m", "pytest", "-v", "--timeout=1800", f"--junitxml={junit}")
        return self.step(name, *command, *words)

    def make(self, target: str) -> bool:
        return self.step(target, "make", target, env={"PYTEST_ADDOPTS": f"--junitxml={JUNIT / target}.xml"})

    def has_time_for(self, pack: Pack) -> bool:
        """Whether the pack, and the core's end if that is still to come, would end before the limit."""
        after = packs.CORE_END_STEP.minutes if pack.cloud == packs.CLOUDS[0] else 0
        passed = (time.monotonic() - self.began) / 60
        if passed + packs.cost(pack, is_oldest_built()) + after <= self.limit:
            return True
        self.omitted.append(pack.name)
        return False

    def pack(self, pack: Pack) -> bool:
        """Start its cloud, run its tests and record the result. Without its cloud the pack fails, and no test runs."""
        if pack.cloud != "none":
            print(f"\n==== {pack.name}: the cloud ({pack.cloud})", flush=True)
            start = time.monotonic()
            passed = run(sys.executable, CLOUDS, pack.cloud) == 0
            self.add(f"{pack.name}: cloud", start, passed)
            if not passed:
                self.record(pack, unrecorded(), git("rev-parse", "HEAD"))
                return False
        own = [pack.folder] if any(pack.folder.glob("test_*.py")) else []
        return self.recorded(pack, *own, *pack.also)

    def core(self) -> bool:
        self.step("browser", sys.executable, BROWSER)
        return self.recorded(packs.CORE_STEP, "--maxfail=3", f"--ignore={END}", CORE)

    def end(self) -> bool:
        return self.recorded(packs.CORE_END_STEP, END)

    def recorded(self, pack: Pack, *words: str | Path) -> bool:
        """Run these tests of a pack or of the core, and record the result."""
        why, commit = unrecorded(), git("rev-parse", "HEAD")
        passed = self.pytest(pack.name, *words)
        self.record(pack, why, commit)
        return passed

    def record(self, pack: Pack, why: str, commit: str | None) -> None:
        """Record the last step as the run of a pack, unless `why` says why not."""
        _, minutes, passed = self.steps[-1]
        if passed and packs.is_late(pack, minutes):
            self.late[pack.name] = pack.minutes
        if why or commit is None:
            print(f"{pack.name} is not recorded: {why or 'there is no commit'}")
        else:
            note(pack.name, commit, minutes, passed)

    def summary(self) -> int:
        print(f"\n{'minutes':>8}  step")
        for name, minutes, passed in self.steps:
            late = f"   LATE: {self.late[name]:g} minutes are declared" if name in self.late else ""
            print(f"{minutes:8.1f}  {name}{'' if passed else '   FAILED'}{late}")
        if self.omitted:
            print(f"omitted, to end within {self.limit:g} minutes: {', '.join(self.omitted)}; a later run takes them")
        return 0 if all(passed for _, _, passed in self.steps) else 1


def note(name: str, commit: str, minutes: float, passed: bool) -> None:
    """Write the run of a pack or of the core to the record."""
    record = read_record()
    last = record.get(name, Run())
    date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    result = "passed" if passed else "failed"
    record[name] = Run(result, commit, date, round(minutes, 1), commit if passed else last.passed)
    packs.RECORD.write_text(packs.write(record))


@contextlib.contextmanager
def cluster_as_before() -> Iterator[None]:
    """Stops the cluster at the end, unless it ran before."""
    ran = state.cluster_state().state == "ready"
    try:
        yield
    finally:
        if not ran and state.cluster_state().state not in ("absent", "stopped"):
            run(STACKWRIGHT, "down")


@contextlib.contextmanager
def starting() -> Iterator[subprocess.Popen[bytes]]:
    """Starts the cloud with storage in the background."""
    UP_LOG.parent.mkdir(parents=True, exist_ok=True)
    with UP_LOG.open("wb") as log:
        command = [sys.executable, str(CLOUDS), "storage"]
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            stop(process)


def started(suite: Suite, process: subprocess.Popen[bytes], start: float) -> bool:
    """Wait for the cloud; print the log of its start if it failed."""
    print(f"\n==== waiting for the cloud ({UP_LOG.relative_to(ROOT)})", flush=True)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(UP_LIMIT)
    passed = process.poll() == 0
    suite.add("cloud (beside the steps above)", start, passed)
    if not passed:
        print(UP_LOG.read_text(errors="replace"))
    return passed


def story(suite: Suite, chosen: list[Pack]) -> None:
    """The core, packs on its cloud, its end, packs on others. A failed core skips its end; packs run anyway."""
    core = suite.core()
    for pack in packs.in_order(chosen):
        if pack.cloud == packs.CLOUDS[0] and suite.has_time_for(pack):
            suite.pack(pack)
    if core:
        suite.end()
    for pack in packs.in_order(chosen):
        if pack.cloud != packs.CLOUDS[0] and suite.has_time_for(pack):
            suite.pack(pack)


def whole(first: Sequence[str], chosen: list[Pack], limit: float = math.inf) -> int:
    suite = Suite(limit=limit)
    for old in JUNIT.glob("*.xml"):  # `durations` reports this run only
        old.unlink()
    with cluster_as_before(), starting() as cloud:
        start = time.monotonic()
        for target in first:
            suite.make(target)
        if started(suite, cloud, start):
            story(suite, chosen)
    code = suite.summary()
    if chosen and len(suite.omitted) == len(chosen):
        print("NO PACK RAN: no chosen one had time")
    return code


# ---- verbs


def is_oldest_built() -> bool:
    oldest = replace(LocalCluster.discover(), kubernetes=OLDEST_TEXT)
    return tools.folder(oldest, tools.KUBERNETES.module).is_dir()


def test() -> int:
    """CI ends a run after 90 minutes, also on a slow machine without a built tool: packs that need long are omitted."""
    known, record = packs.load(), read_record()
    is_built = is_oldest_built()
    slow = [pack for pack in known if packs.cost(pack, is_built) > packs.MOST_COST]
    if slow:
        print(f"packs that take too long here: {', '.join(pack.name for pack in slow)}")
    old, count = ages(known, record), git("rev-list", "--count", "--first-parent", "HEAD")
    fast = [pack for pack in known if pack not in slow]
    chosen = packs.choose(fast, record, changes(fast, record), old, int(count or 0))
    print(f"packs: {', '.join(pack.name for pack in chosen)}", flush=True)
    code = whole(("lint", "unit", "functional"), chosen, packs.LIMIT_MINUTES)
    return report() or code


def unproven(known: list[Pack], record: packs.Record) -> list[Pack]:
    """Packs whose last run did not pass on this code; an interrupted run continues with them.

    Documentation, pure tests, the core, other packs and this program do not count, unless the declaration of the pack
    names them.
    """
    changed = changes(known, record)

    def is_read(pack: Pack, path: str) -> bool:
        named = path in pack.also or packs.selects(pack, [path])
        return named or (not path.endswith(".md") and not path.startswith(UNREAD))

    def is_proven(pack: Pack) -> bool:
        last = record.get(pack.name, Run())
        code = [path for path in changed[pack.name] if is_read(pack, path)]
        return last.result == "passed" and since(last.passed) is not None and not code

    return [pack for pack in known if not is_proven(pack)]


def everything() -> int:
    """All cases and new examples of the pure tests, and the packs that did not pass on this code."""
    known = packs.load()
    chosen = unproven(known, read_record())
    passed = [pack.name for pack in known if pack not in chosen]
    print(f"packs that passed on this code: {', '.join(passed) or 'none'}", flush=True)
    code = whole(("lint", "sweep", "functional"), chosen)
    return report() or code


def e2e(name: str) -> int:
    suite = Suite()
    with cluster_as_before():
        if name:
            suite.pack(next(pack for pack in packs.load() if pack.name == name))
        elif suite.core():
            suite.end()
    return suite.summary()


def report() -> int:
    """Print the record; 1 if a pack passed too long ago. The core runs each time, so its age does not count."""
    known, record = packs.load(), read_record()
    old = ages(known, record)
    core = {each.name: since(commit) for each in packs.CORE_STEPS if (commit := record.get(each.name, Run()).passed)}
    print("\n" + packs.table([*packs.CORE_STEPS, *known], record, {**core, **old}))
    if not is_whole():
        print("The history is not here (a shallow clone, or none), so nobody can say how old the record is.")
        return 0
    lost = [name for name, age in old.items() if age is None]
    late = packs.overdue(old)
    for name in lost:
        print(f"{name}: its commit is not in this history; run `make e2e PACK={name}` and commit {packs.RECORD.name}")
    for name in late:
        ago = f"more than {packs.MOST_COMMITS} commits ago"
        said = f"passed {ago}" if record.get(name, Run()).passed else f"added {ago} and never passed"
        print(f"{name}: {said}; run `make e2e PACK={name}`, commit the record")
    return 1 if lost or late else 0


def durations() -> int:
    files = sorted(JUNIT.glob("*.xml"))
    if not files:
        print("There is no run to tell of: make test")
        return 1
    suites = {file.stem: [case.attrib for case in ElementTree.parse(file).getroot().iter("testcase")] for file in files}  # noqa: S314
    print(packs.durations(suites))
    return 0


def main(words: list[str]) -> int:
    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)  # a shell starts background jobs, and thus their children, with SIGINT ignored
    JUNIT.mkdir(parents=True, exist_ok=True)
    verbs = {"test": test, "all": everything, "report": report, "durations": durations}
    verb, *rest = words or [""]
    names = [pack.name for pack in packs.load()]
    if verb == "e2e" and (not rest or rest[0] in names):
        return e2e("".join(rest))
    if verb not in verbs or rest:
        print(f"suite.py takes {', '.join(verbs)}, or e2e with nothing or one of {', '.join(names)}", file=sys.stderr)
        return 2
    try:
        return verbs[verb]()
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
