"""Limits of Helm: the time of a call, concurrent calls, and the records that it keeps.

The timeouts of a release are in its HelmBundle; api/services/helmbundle.py has their default.
"""

from __future__ import annotations

CALL_SECONDS = 300.0  # for one call, and as many for its turn to come
PARALLEL = 4  # maximum of concurrent calls
# Maximum of them for one namespace. One stays free for others: a call may take minutes, and its slot cannot be revoked.
SHARE = 3
HISTORY = 10  # maximum number of records per release
