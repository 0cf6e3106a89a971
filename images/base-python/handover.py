"""Lets an RPC server that stops leave later messages to others: cancels its consumers, in the source of oslo.messaging.

A server that stops finishes its requests, and then closes its connection to RabbitMQ, which sends messages until then.
While it deletes a queue, the library reads these, confirms them, and drops them. With this change, the thread that
reads from the connection cancels all consumers as soon as the server stops. What RabbitMQ sent before is processed.
"""

import sys
from pathlib import Path

USED = (  # of a connection, which only this thread uses: one that receives has no thread of heartbeats, and no lock
    "self._active_tags[consumer.queue_name] = tag\n",  # the names of consumers at RabbitMQ
    "def _transport_socket_timeout(self, timeout):\n",  # in seconds, of each read
    "self._connection_lock = DummyConnectionLock()\n",
)
STOPPED = '        LOG.debug("Listener is stopped")\n'
CANCEL = """\
        tags = list(self.conn._active_tags.values())
        self.conn._active_tags.clear()  # poll() is called once more for each message
        try:
            with self.conn._transport_socket_timeout(10):
                for tag in tags:
                    self.conn.channel.basic_cancel(str(tag))
        except Exception as exc:  # of the connection; RabbitMQ returns the messages when it closes
            LOG.warning("Consumers were not cancelled: %s", exc)
"""


def patch(driver: str, connection: str) -> str:
    """The source of the driver with the cancellation. Raises SystemExit for another version."""
    if driver.count(STOPPED) != 1 or CANCEL in driver or any(each not in connection for each in USED):
        sys.exit("this version of oslo.messaging stops at another place; adapt this script")
    return driver.replace(STOPPED, STOPPED + CANCEL)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    path = folder / "amqpdriver.py"
    path.write_text(patch(path.read_text(), (folder / "impl_rabbit.py").read_text()))
