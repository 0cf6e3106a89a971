"""Hands the messages of an RPC server that stops to another one: `install()`, before the program starts.

A server that stops finishes its requests, and then closes its connection to RabbitMQ, which sends it messages until then.
oslo.messaging reads these while it deletes a queue, confirms them, and drops them. With this module a server cancels its
consumers when it stops, and returns what it receives after that.
"""

import logging

from oslo_messaging._drivers import amqpdriver


def install():
    listener = amqpdriver.RpcAMQPListener
    receive, stop = listener.__call__, listener.stop

    def received(self, message):
        if self._shutoff.is_set():  # nothing reads its messages any more
            message.requeue()
        else:
            receive(self, message)

    def stopped(self):
        stop(self)
        try:
            for consumer, tag in list(self.conn._consumers.items()):
                consumer.cancel(tag)
        except Exception as error:  # of the connection; RabbitMQ returns the messages when it closes
            logging.getLogger(__name__).warning("consumers were not cancelled: %s", type(error).__name__)

    listener.__call__, listener.stop = received, stopped
