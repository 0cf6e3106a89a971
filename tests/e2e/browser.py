"""A real browser without a screen. It trusts the cloud's CA as a user's browser does: by an import of the certificate.

`python tests/e2e/browser.py` installs its packages, which no test does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import run
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.chrome.webdriver import WebDriver

PROGRAMS = {"chromium": "chromium", "chromedriver": "chromium-driver", "certutil": "libnss3-tools"}
INSTALL = "python tests/e2e/browser.py"
PATIENCE = 60


def missing() -> list[str]:
    """Debian's packages of missing programs."""
    return [package for program, package in PROGRAMS.items() if shutil.which(program) is None]


def require() -> None:
    """Raises AssertionError that names the command to install missing packages."""
    wanted = missing()
    assert not wanted, f"the browser needs {', '.join(wanted)}: run `{INSTALL}` as root"


def install() -> None:
    """Installs Debian's browser if it is absent. Like the local cluster, this needs root on a Debian machine.

    Raises AssertionError with the output of apt-get.
    """
    wanted = missing()
    if not wanted:
        return
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *wanted]
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    if run(*command, limit=600, env=env).code != 0:  # lists may be missing or old
        run("apt-get", "update", limit=300)
        done = run(*command, limit=900, env=env)
        assert done.code == 0, done.out


def trust(home: Path, ca: Path) -> None:
    """Adds a CA to the certificate database of a browser with this home."""
    database = home / ".pki/nssdb"
    database.mkdir(parents=True)
    for words in (["-N", "--empty-password"], ["-A", "-t", "C,,", "-n", "cloud", "-i", str(ca)]):
        done = run("certutil", "-d", f"sql:{database}", *words)
        assert done.code == 0, done.out


@contextmanager
def browser(home: Path) -> Iterator[WebDriver]:
    """A browser whose home is `home`; it trusts the CAs that `trust` added."""
    require()
    options = Options()
    options.binary_location = str(shutil.which("chromium"))
    # No sandbox: Chromium's own does not work for root, and the browser loads only one page, which is ours.
    flags = ("headless=new", "window-size=1280,1024", "no-sandbox", "disable-dev-shm-usage", "disable-gpu")
    for flag in (*flags, "no-proxy-server"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={home / 'profile'}")
    service = Service(str(shutil.which("chromedriver")), env={**os.environ, "HOME": str(home)})
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(PATIENCE)
    try:
        yield driver
    finally:
        driver.quit()


if __name__ == "__main__":
    install()
