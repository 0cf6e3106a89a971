"""The process that reviews requests for the admission server (`runtime/webhook/process.py`).

It reads messages from standard input: first the pickled Settings, then one request after the other, and writes a
response to each. The kernel ends it when a review uses more processor time than PROCESSOR, and refuses more memory than
MEMORY.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import re
import resource
import signal
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import BinaryIO

from stackwright.admission.validate import errors_of
from stackwright.core.settings import Settings
from stackwright.runtime.webhook.review import MEMORY, OUT_OF_MEMORY, PROCESSOR, SIZE, Check, review


def main(check: Check | None = None) -> None:
    """Run until the operator ends; `check` replaces `errors_of` in tests."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the operator, which then closes the pipe
    requests, responses = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # other output must not mix with the responses
    settings: Settings = pickle.loads(_message(requests) or b"")  # noqa: S301 - from the operator
    check = check or partial(errors_of, settings=settings)
    gc.freeze()
    most = _data() + MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    while (body := _message(requests)) is not None:
        signal.setitimer(signal.ITIMER_PROF, PROCESSOR)  # its signal ends the process
        try:
            text = json.dumps(asdict(review(body, check))).encode()
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        signal.setitimer(signal.ITIMER_PROF, 0)
        responses.write(SIZE.pack(len(text)) + text)
        responses.flush()


def _message(source: BinaryIO) -> bytes | None:
    """None at the end of the operator."""
    head = source.read(SIZE.size)
    return source.read(SIZE.unpack(head)[0]) if len(head) == SIZE.size else None


def _data() -> int:
    """Bytes of memory that the process has now."""
    (kib,) = re.findall(r"^VmData:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(kib) << 10


if __name__ == "__main__":
    main()
