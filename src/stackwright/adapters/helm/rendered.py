"""The post-renderer of Helm: returns the rendered manifest unchanged if all its objects may belong to the release.

Helm runs this program after it rendered a chart and before it writes any object, and applies the output of this
program. If it fails, Helm stops. So the checked text is the applied one, and nothing is rendered twice. Hooks are not
checked: Helm is called with `--no-hooks`.
"""

from __future__ import annotations

import sys

from stackwright.core.helm.manifests import Unreadable, foreign

REFUSED = "stackwright refuses the rendered objects: "
PRIVILEGED, PLAIN = "privileged", "plain"  # the chart: see `command.privileged_charts`


def main(namespace: str, rights: str) -> int:
    """Exit code: 0 if the manifest is accepted; otherwise the error output is REFUSED and the cause."""
    manifest = sys.stdin.buffer.read()
    try:
        problem = foreign(manifest.decode(), namespace, rights == PRIVILEGED)
    except Unreadable as error:
        problem = f"the chart {error}"
    except UnicodeDecodeError:
        problem = "the chart has a manifest that is not UTF-8"
    if problem:
        print(REFUSED + problem, file=sys.stderr)
        return 1
    sys.stdout.buffer.write(manifest)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
