import datetime
import threading
import uuid

from azure.eventhub import EventData, EventHubConsumerClient, EventHubProducerClient
from azure.eventhub.exceptions import EventHubError

from checks import check, connection_string, run_all


def fresh():
    return f"python-{uuid.uuid4().hex[:8]}"


def producer(hub):
    return EventHubProducerClient.from_connection_string(connection_string(), eventhub_name=hub, retry_total=0)


def send(hub, texts, **target):
    with producer(hub) as client:
        batch = client.create_batch(**target)
        for text in texts:
            batch.add(EventData(text))
        client.send_batch(batch)


def receive(hub, count, start, **options):
    """Receives from all partitions until `count` events have come, or 20 seconds have passed."""
    events = []
    done = threading.Event()
    consumer = EventHubConsumerClient.from_connection_string(
        connection_string(), consumer_group="$Default", eventhub_name=hub, retry_total=0
    )

    def on_event(_, event):
        if event is None:
            return
        events.append(event)
        if len(events) >= count:
            done.set()

    with consumer:
        thread = threading.Thread(
            target=lambda: consumer.receive(on_event=on_event, starting_position=start, **options), daemon=True
        )
        thread.start()
        done.wait(20)
    thread.join(10)
    return events


@check("properties of hub and partition")
def _():
    hub = fresh()
    with producer(hub) as client:
        properties = client.get_eventhub_properties()
        assert properties["eventhub_name"] == hub and len(properties["partition_ids"]) > 0
        assert client.get_partition_properties("0")["is_empty"] is True


@check("send a batch and receive it from the start")
def _():
    hub = fresh()
    send(hub, ["a", "b", "c"])
    assert sorted(event.body_as_str() for event in receive(hub, 3, "-1")) == ["a", "b", "c"]


@check("partition key and partition id")
def _():
    hub = fresh()
    send(hub, ["keyed"], partition_key="k")
    [keyed] = receive(hub, 1, "-1")
    assert keyed.partition_key == b"k" and keyed.sequence_number == 0 and keyed.offset is not None
    other = fresh()
    send(other, ["x"], partition_id="1")
    with producer(other) as client:
        assert client.get_partition_properties("1")["is_empty"] is False


@check("event properties keep their types")
def _():
    hub = fresh()
    event = EventData(b"bytes")
    event.properties = {"yes": True, "whole": 5, "half": 0.5}
    with producer(hub) as client:
        client.send_event(event)
    [found] = receive(hub, 1, "-1")
    properties = {key.decode(): value for key, value in found.properties.items()}
    assert properties == {"yes": True, "whole": 5, "half": 0.5}, properties
    assert properties["yes"] is True


@check("receive from an enqueued time")
def _():
    hub = fresh()
    send(hub, ["before"])
    [before] = receive(hub, 1, "-1")
    send(hub, ["after"])
    found = receive(hub, 1, before.enqueued_time)
    assert [event.body_as_str() for event in found] == ["after"]


@check("track the last enqueued event")
def _():
    hub = fresh()
    send(hub, ["x"])
    [event] = receive(hub, 1, "-1", track_last_enqueued_event_properties=True)
    assert event.body_as_str() == "x"


@check("a refused batch fails the send")
def _():
    hub = fresh()
    try:
        send(hub, ["x"], partition_id="99")
    except EventHubError:
        return
    raise AssertionError("the send succeeded")


run_all()
