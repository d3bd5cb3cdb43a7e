import com.azure.core.amqp.AmqpRetryOptions;
import com.azure.core.amqp.exception.AmqpException;
import com.azure.messaging.eventhubs.EventData;
import com.azure.messaging.eventhubs.EventHubClientBuilder;
import com.azure.messaging.eventhubs.EventHubConsumerClient;
import com.azure.messaging.eventhubs.EventHubProducerClient;
import com.azure.messaging.eventhubs.models.CreateBatchOptions;
import com.azure.messaging.eventhubs.models.EventPosition;
import com.azure.messaging.eventhubs.models.PartitionEvent;
import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusException;
import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.ServiceBusSessionReceiverClient;
import com.azure.messaging.servicebus.models.DeadLetterOptions;
import com.azure.messaging.servicebus.models.ServiceBusReceiveMode;
import com.azure.messaging.servicebus.models.SubQueue;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;

/** Runs named checks with the SDKs for Java and prints one line for each: `ok NAME`, or `failed NAME: REASON`. */
public final class Checks {
    private interface Check {
        void run() throws Exception;
    }

    private static final String CONNECTION = System.getenv("SDK_CONNECTION_STRING");
    private static final AmqpRetryOptions RETRY =
        new AmqpRetryOptions().setMaxRetries(1).setTryTimeout(Duration.ofSeconds(20)).setDelay(Duration.ofMillis(100));
    private static int failures = 0;

    public static void main(String[] arguments) {
        if (arguments[0].equals("service-bus")) serviceBus();
        else eventHubs();
        System.exit(failures > 0 ? 1 : 0);
    }

    private static void check(String name, Check check) {
        try {
            check.run();
            System.out.println("ok " + name);
        } catch (Throwable error) {
            failures += 1;
            System.out.println("failed " + name + ": " + String.valueOf(error).lines().findFirst().orElse(""));
            error.printStackTrace();
        }
        System.out.flush();
    }

    private static void expect(boolean holds, String otherwise) {
        if (!holds) throw new IllegalStateException(otherwise);
    }

    private static String fresh() {
        return "java-" + UUID.randomUUID().toString().substring(0, 8);
    }

    private static ServiceBusClientBuilder bus() {
        return new ServiceBusClientBuilder().connectionString(CONNECTION).retryOptions(RETRY);
    }

    private static void send(String queue, ServiceBusMessage... messages) {
        try (ServiceBusSenderClient sender = bus().sender().queueName(queue).buildClient()) {
            for (ServiceBusMessage message : messages) sender.sendMessage(message);
        }
    }

    private static ServiceBusReceiverClient receiver(String queue) {
        return bus().receiver().queueName(queue).disableAutoComplete().buildClient();
    }

    private static ServiceBusReceivedMessage one(ServiceBusReceiverClient receiver) {
        for (ServiceBusReceivedMessage message : receiver.receiveMessages(1, Duration.ofSeconds(20))) return message;
        throw new IllegalStateException("no message came");
    }

    private static void serviceBus() {
        check("send, receive and complete", () -> {
            String queue = fresh();
            ServiceBusMessage message = new ServiceBusMessage("hello").setSubject("greeting");
            message.getApplicationProperties().put("yes", true);
            message.getApplicationProperties().put("whole", 5L);
            message.getApplicationProperties().put("half", 0.5);
            send(queue, message);
            try (ServiceBusReceiverClient receiver = receiver(queue)) {
                ServiceBusReceivedMessage received = one(receiver);
                expect(received.getBody().toString().equals("hello"), "the body differs");
                expect(Boolean.TRUE.equals(received.getApplicationProperties().get("yes")), "the boolean differs");
                expect(received.getApplicationProperties().get("whole").equals(5L), "the number differs");
                receiver.complete(received);
            }
        });
        check("batch and list of messages", () -> {
            String queue = fresh();
            try (ServiceBusSenderClient sender = bus().sender().queueName(queue).buildClient()) {
                sender.sendMessages(List.of(new ServiceBusMessage("0"), new ServiceBusMessage("1"), new ServiceBusMessage("2")));
            }
            try (ServiceBusReceiverClient receiver = receiver(queue)) {
                for (int index = 0; index < 3; index += 1) receiver.complete(one(receiver));
            }
        });
        check("abandon, then dead-letter with a reason", () -> {
            String queue = fresh();
            send(queue, new ServiceBusMessage("x"));
            try (ServiceBusReceiverClient receiver = receiver(queue)) {
                receiver.abandon(one(receiver));
                DeadLetterOptions options = new DeadLetterOptions().setDeadLetterReason("bad").setDeadLetterErrorDescription("very bad");
                receiver.deadLetter(one(receiver), options);
            }
            try (ServiceBusReceiverClient dead =
                    bus().receiver().queueName(queue).subQueue(SubQueue.DEAD_LETTER_QUEUE).disableAutoComplete().buildClient()) {
                ServiceBusReceivedMessage letter = one(dead);
                expect("bad".equals(letter.getDeadLetterReason()), "reason " + letter.getDeadLetterReason());
                dead.complete(letter);
            }
        });
        check("defer, receive deferred and complete", () -> {
            String queue = fresh();
            send(queue, new ServiceBusMessage("later"));
            try (ServiceBusReceiverClient receiver = receiver(queue)) {
                ServiceBusReceivedMessage message = one(receiver);
                receiver.defer(message);
                ServiceBusReceivedMessage deferred = receiver.receiveDeferredMessage(message.getSequenceNumber());
                expect(deferred.getLockToken() != null, "no lock token");
                receiver.renewMessageLock(deferred);
                receiver.complete(deferred);
            }
        });
        check("peek, schedule and cancel", () -> {
            String queue = fresh();
            try (ServiceBusSenderClient sender = bus().sender().queueName(queue).buildClient();
                    ServiceBusReceiverClient receiver = receiver(queue)) {
                long number = sender.scheduleMessage(new ServiceBusMessage("later"), OffsetDateTime.now().plusHours(1));
                expect(receiver.peekMessage().getSequenceNumber() == number, "another message was peeked");
                sender.cancelScheduledMessage(number);
            }
        });
        check("receive and delete", () -> {
            String queue = fresh();
            send(queue, new ServiceBusMessage("x"));
            try (ServiceBusReceiverClient receiver =
                    bus().receiver().queueName(queue).receiveMode(ServiceBusReceiveMode.RECEIVE_AND_DELETE).buildClient()) {
                one(receiver);
            }
        });
        check("sessions: order, state and lock", () -> {
            String queue = fresh();
            try (ServiceBusSessionReceiverClient sessions = bus().sessionReceiver().queueName(queue).disableAutoComplete().buildClient()) {
                sessions.acceptSession("warm").close();
                send(queue, new ServiceBusMessage("0").setSessionId("s"), new ServiceBusMessage("1").setSessionId("s"));
                try (ServiceBusReceiverClient receiver = sessions.acceptNextSession()) {
                    receiver.setSessionState("half way".getBytes());
                    expect(new String(receiver.getSessionState()).equals("half way"), "the state differs");
                    receiver.renewSessionLock();
                    for (int index = 0; index < 2; index += 1) {
                        ServiceBusReceivedMessage message = one(receiver);
                        expect(message.getBody().toString().equals(String.valueOf(index)), "the order differs");
                        receiver.complete(message);
                    }
                }
            }
        });
        check("topic with a boolean filter", () -> {
            try (ServiceBusSenderClient sender = bus().sender().topicName("sdk-java-topic").buildClient()) {
                for (boolean flag : new boolean[] {false, true}) {
                    ServiceBusMessage message = new ServiceBusMessage(String.valueOf(flag));
                    message.getApplicationProperties().put("flag", flag);
                    sender.sendMessage(message);
                }
            }
            try (ServiceBusReceiverClient receiver =
                    bus().receiver().topicName("sdk-java-topic").subscriptionName("flagged").disableAutoComplete().buildClient()) {
                ServiceBusReceivedMessage message = one(receiver);
                expect(message.getBody().toString().equals("true"), "a message without the flag came");
                receiver.complete(message);
            }
        });
        check("a refused message fails the send", () -> {
            String queue = fresh();
            try (ServiceBusSessionReceiverClient sessions = bus().sessionReceiver().queueName(queue).buildClient()) {
                sessions.acceptSession("warm").close();
            }
            try {
                send(queue, new ServiceBusMessage("without a session"));
            } catch (ServiceBusException expected) {
                return;
            }
            throw new IllegalStateException("the send succeeded");
        });
    }

    private static EventHubClientBuilder hub(String name) {
        return new EventHubClientBuilder().connectionString(CONNECTION, name).consumerGroup("$Default").retryOptions(RETRY);
    }

    private static void publish(String hub, CreateBatchOptions options, String... texts) {
        try (EventHubProducerClient producer = hub(hub).buildProducerClient()) {
            var batch = producer.createBatch(options);
            for (String text : texts) {
                EventData event = new EventData(text);
                event.getProperties().put("yes", true);
                batch.tryAdd(event);
            }
            producer.send(batch);
        }
    }

    private static List<PartitionEvent> read(String hub, EventPosition position, int count) {
        try (EventHubConsumerClient consumer = hub(hub).buildConsumerClient()) {
            return consumer.receiveFromPartition("0", count, position, Duration.ofSeconds(10)).stream().toList();
        }
    }

    private static void eventHubs() {
        CreateBatchOptions first = new CreateBatchOptions().setPartitionId("0");
        check("properties of hub and partition", () -> {
            try (EventHubProducerClient producer = hub(fresh()).buildProducerClient()) {
                expect(producer.getEventHubProperties().getPartitionIds().stream().count() > 0, "no partitions");
                expect(producer.getPartitionProperties("0").isEmpty(), "the partition is not empty");
            }
        });
        check("send a batch and receive it from the start", () -> {
            String hub = fresh();
            publish(hub, first, "a", "b");
            List<PartitionEvent> events = read(hub, EventPosition.earliest(), 2);
            expect(events.size() == 2, events.size() + " events came");
            EventData event = events.get(0).getData();
            expect(event.getBodyAsString().equals("a") && Boolean.TRUE.equals(event.getProperties().get("yes")), "the event differs");
        });
        check("receive from an enqueued time", () -> {
            String hub = fresh();
            publish(hub, first, "before");
            EventData before = read(hub, EventPosition.earliest(), 1).get(0).getData();
            publish(hub, first, "after");
            List<PartitionEvent> events = read(hub, EventPosition.fromEnqueuedTime(before.getEnqueuedTime()), 1);
            expect(events.get(0).getData().getBodyAsString().equals("after"), "an earlier event came");
        });
        check("partition key and partition id", () -> publish(fresh(), new CreateBatchOptions().setPartitionKey("k"), "x"));
        check("a refused batch fails the send", () -> {
            try {
                publish(fresh(), new CreateBatchOptions().setPartitionId("99"), "x");
            } catch (AmqpException expected) {
                return;
            }
            throw new IllegalStateException("the send succeeded");
        });
    }
}
