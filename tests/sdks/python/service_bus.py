import datetime
import uuid

from azure.servicebus import (
    NEXT_AVAILABLE_SESSION,
    ServiceBusClient,
    ServiceBusMessage,
    ServiceBusReceiveMode,
    ServiceBusSubQueue,
)
from azure.servicebus.exceptions import ServiceBusError

from checks import check, connection_string, run_all

options = {"retry_total": 0}


def client():
    return ServiceBusClient.from_connection_string(connection_string(), **options)


def fresh():
    return f"python-{uuid.uuid4().hex[:8]}"


def send(bus, queue, *messages):
    with bus.get_queue_sender(queue) as sender:
        for message in messages:
            sender.send_messages(message, timeout=20)


def receive_one(receiver):
    messages = receiver.receive_messages(max_message_count=1, max_wait_time=20)
    assert len(messages) == 1, "no message came"
    return messages[0]


@check("send, receive and complete")
def _():
    with client() as bus:
        queue = fresh()
        send(bus, queue, ServiceBusMessage("hello", subject="greeting"))
        with bus.get_queue_receiver(queue) as receiver:
            message = receive_one(receiver)
            assert str(message) == "hello" and message.subject == "greeting"
            receiver.complete_message(message)
            assert receiver.receive_messages(max_wait_time=1) == []


@check("batch and list of messages")
def _():
    with client() as bus:
        queue = fresh()
        with bus.get_queue_sender(queue) as sender:
            batch = sender.create_message_batch()
            for index in range(10):
                batch.add_message(ServiceBusMessage(str(index)))
            sender.send_messages(batch)
            sender.send_messages([ServiceBusMessage(str(index)) for index in range(10, 15)])
        with bus.get_queue_receiver(queue) as receiver:
            found = []
            while len(found) < 15:
                messages = receiver.receive_messages(max_message_count=15, max_wait_time=20)
                assert messages, f"{len(found)} of 15 came"
                for message in messages:
                    found.append(str(message))
                    receiver.complete_message(message)
            assert found == [str(index) for index in range(15)]


@check("application properties keep their types")
def _():
    with client() as bus:
        queue = fresh()
        moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
        token = uuid.uuid4()
        sent = {"yes": True, "no": False, "whole": 5, "half": 0.5, "text": "täxt", "id": token}
        lifetime = datetime.timedelta(minutes=5)
        message = ServiceBusMessage("x", application_properties=sent, message_id="m-1", time_to_live=lifetime)
        send(bus, queue, message)
        with bus.get_queue_receiver(queue) as receiver:
            received = receive_one(receiver)
            found = {key.decode(): value for key, value in received.application_properties.items()}
            assert found["yes"] is True and found["no"] is False, found
            assert (found["whole"], found["half"], found["id"]) == (5, 0.5, token), found
            assert found["text"] == "täxt".encode(), found
            assert received.message_id == "m-1" and received.time_to_live == datetime.timedelta(minutes=5)
            assert received.enqueued_time_utc > moment
            receiver.complete_message(received)


@check("abandon, then dead-letter with a reason")
def _():
    with client() as bus:
        queue = fresh()
        send(bus, queue, ServiceBusMessage("x"))
        with bus.get_queue_receiver(queue) as receiver:
            receiver.abandon_message(receive_one(receiver))
            again = receive_one(receiver)
            assert again.delivery_count == 1, again.delivery_count
            receiver.dead_letter_message(again, reason="bad", error_description="very bad")
        with bus.get_queue_receiver(queue, sub_queue=ServiceBusSubQueue.DEAD_LETTER) as receiver:
            dead = receive_one(receiver)
            assert (dead.dead_letter_reason, dead.dead_letter_error_description) == ("bad", "very bad")
            receiver.complete_message(dead)


@check("defer, receive deferred and complete")
def _():
    with client() as bus:
        queue = fresh()
        send(bus, queue, ServiceBusMessage("later"))
        with bus.get_queue_receiver(queue) as receiver:
            message = receive_one(receiver)
            receiver.defer_message(message)
            assert receiver.receive_messages(max_wait_time=1) == [], "a deferred message was delivered"
            [deferred] = receiver.receive_deferred_messages([message.sequence_number])
            assert str(deferred) == "later" and deferred.lock_token is not None
            receiver.complete_message(deferred)
            assert receiver.peek_messages() == []


@check("renew a lock")
def _():
    with client() as bus:
        queue = fresh()
        send(bus, queue, ServiceBusMessage("x"))
        with bus.get_queue_receiver(queue) as receiver:
            message = receive_one(receiver)
            before = message.locked_until_utc
            assert receiver.renew_message_lock(message) >= before
            receiver.complete_message(message)


@check("peek, schedule and cancel")
def _():
    with client() as bus:
        queue = fresh()
        with bus.get_queue_sender(queue) as sender:
            at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
            [number] = sender.schedule_messages(ServiceBusMessage("later"), at)
            with bus.get_queue_receiver(queue) as receiver:
                [peeked] = receiver.peek_messages()
                assert peeked.sequence_number == number
                sender.cancel_scheduled_messages(number)
                assert receiver.peek_messages() == []


@check("receive and delete")
def _():
    with client() as bus:
        queue = fresh()
        send(bus, queue, ServiceBusMessage("x"))
        with bus.get_queue_receiver(queue, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE) as receiver:
            assert str(receive_one(receiver)) == "x"
            assert receiver.peek_messages() == []


@check("message of 700 kB")
def _():
    with client() as bus:
        queue = fresh()
        body = b"0123456789" * 70_000
        send(bus, queue, ServiceBusMessage(body))
        with bus.get_queue_receiver(queue) as receiver:
            message = receive_one(receiver)
            assert b"".join(message.body) == body
            receiver.complete_message(message)


@check("a refused message fails the send")
def _():
    with client() as bus:
        queue = fresh()
        with bus.get_queue_receiver(queue, session_id="one"):
            pass  # the queue has sessions from now on
        try:
            send(bus, queue, ServiceBusMessage("without a session"))
        except ServiceBusError:
            return
        raise AssertionError("the send succeeded")


@check("sessions: order, state and lock")
def _():
    with client() as bus:
        queue = fresh()
        with bus.get_queue_receiver(queue, session_id="warm"):
            pass
        send(bus, queue, *[ServiceBusMessage(str(index), session_id="s") for index in range(3)])
        with bus.get_queue_receiver(queue, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=20) as receiver:
            assert receiver.session.session_id == "s"
            receiver.session.set_state("half way")
            assert receiver.session.get_state() == b"half way"
            receiver.session.renew_lock()
            found = []
            while len(found) < 3:
                message = receive_one(receiver)
                found.append(str(message))
                receiver.complete_message(message)
            assert found == ["0", "1", "2"]


@check("topic with a boolean filter")
def _():
    with client() as bus:
        with bus.get_topic_sender("sdk-python-topic") as sender:
            sender.send_messages(ServiceBusMessage("no", application_properties={"flag": False}))
            sender.send_messages(ServiceBusMessage("yes", application_properties={"flag": True}))
        with bus.get_subscription_receiver("sdk-python-topic", "flagged") as receiver:
            message = receive_one(receiver)
            assert str(message) == "yes" and message.application_properties[b"flag"] is True
            receiver.complete_message(message)


run_all()
