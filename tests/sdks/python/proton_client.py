"""Qpid Proton, an AMQP library that knows nothing of Azure."""

import re
import uuid

from proton import Message
from proton.utils import BlockingConnection, LinkDetached, SendException

from checks import check, connection_string, run_all

url = "amqp://" + re.search(r"sb://([^;/]+)", connection_string()).group(1)


def fresh():
    return f"proton-{uuid.uuid4().hex[:8]}"


@check("send, receive and complete")
def _():
    queue = fresh()
    connection = BlockingConnection(url, timeout=20, allowed_mechs="ANONYMOUS")
    sender = connection.create_sender(queue)
    sender.send(Message(body="hello", properties={"yes": True, "half": 0.5}))
    receiver = connection.create_receiver(queue, credit=1)
    message = receiver.receive(timeout=20)
    assert message.body == "hello" and message.properties["yes"] is True, message
    receiver.accept()
    connection.close()


@check("release a message, and reject it to the dead letters")
def _():
    queue = fresh()
    connection = BlockingConnection(url, timeout=20, allowed_mechs="ANONYMOUS")
    connection.create_sender(queue).send(Message(body="x"))
    receiver = connection.create_receiver(queue, credit=2)
    receiver.receive(timeout=20)
    receiver.release()
    assert receiver.receive(timeout=20).delivery_count >= 1
    receiver.reject()
    dead = connection.create_receiver(f"{queue}/$DeadLetterQueue", credit=1)
    dead.receive(timeout=20)
    dead.accept()
    connection.close()


@check("addresses as URL and with a slash")
def _():
    queue = fresh()
    connection = BlockingConnection(url, timeout=20, allowed_mechs="ANONYMOUS")
    connection.create_sender(f"amqps://localhost/{queue}").send(Message(body="x"))
    receiver = connection.create_receiver(f"/{queue}", credit=1)
    receiver.receive(timeout=20)
    receiver.accept()
    connection.close()


@check("a refused link fails the attach")
def _():
    connection = BlockingConnection(url, timeout=20, allowed_mechs="ANONYMOUS")
    try:
        connection.create_receiver("nowhere/$DeadLetterQueue")
    except (LinkDetached, SendException):
        connection.close()
        return
    raise AssertionError("the link was attached")


run_all()
