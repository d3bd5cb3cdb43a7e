// Runs named checks with the SDKs for Go and prints one line for each: `ok NAME`, or `failed NAME: REASON`.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

var failures = 0

func check(name string, run func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := run(ctx); err != nil {
		failures++
		fmt.Printf("failed %s: %s\n", name, strings.SplitN(err.Error(), "\n", 2)[0])
		return
	}
	fmt.Printf("ok %s\n", name)
}

func fresh() string {
	bytes := make([]byte, 4)
	_, _ = rand.Read(bytes)
	return "go-" + hex.EncodeToString(bytes)
}

func expect(holds bool, format string, values ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, values...)
}

func main() {
	connection := os.Getenv("SDK_CONNECTION_STRING")
	if os.Args[1] == "service-bus" {
		serviceBus(connection)
	} else {
		eventHubs(connection)
	}
	if failures > 0 {
		os.Exit(1)
	}
}

func sendText(ctx context.Context, bus *azservicebus.Client, queue string, messages ...*azservicebus.Message) error {
	sender, err := bus.NewSender(queue, nil)
	if err != nil {
		return err
	}
	defer sender.Close(ctx)
	for _, message := range messages {
		if err := sender.SendMessage(ctx, message, nil); err != nil {
			return err
		}
	}
	return nil
}

func receiveOne(ctx context.Context, receiver *azservicebus.Receiver) (*azservicebus.ReceivedMessage, error) {
	messages, err := receiver.ReceiveMessages(ctx, 1, nil)
	if err != nil {
		return nil, err
	}
	return messages[0], nil
}

func serviceBus(connection string) {
	bus, err := azservicebus.NewClientFromConnectionString(connection, &azservicebus.ClientOptions{
		RetryOptions: azservicebus.RetryOptions{MaxRetries: 1, RetryDelay: 100 * time.Millisecond},
	})
	if err != nil {
		panic(err)
	}
	check("send, receive and complete", func(ctx context.Context) error {
		queue := fresh()
		yes := map[string]any{"yes": true, "whole": int64(5), "half": 0.5, "text": "täxt"}
		subject := "greeting"
		message := &azservicebus.Message{Body: []byte("hello"), ApplicationProperties: yes, Subject: &subject}
		if err := sendText(ctx, bus, queue, message); err != nil {
			return err
		}
		receiver, err := bus.NewReceiverForQueue(queue, nil)
		if err != nil {
			return err
		}
		defer receiver.Close(ctx)
		received, err := receiveOne(ctx, receiver)
		if err != nil {
			return err
		}
		found := received.ApplicationProperties
		if err := expect(found["yes"] == true && found["whole"] == int64(5) && found["half"] == 0.5 && found["text"] == "täxt",
			"properties: %v", found); err != nil {
			return err
		}
		return receiver.CompleteMessage(ctx, received, nil)
	})
	check("batch and list of messages", func(ctx context.Context) error {
		queue := fresh()
		sender, err := bus.NewSender(queue, nil)
		if err != nil {
			return err
		}
		defer sender.Close(ctx)
		batch, err := sender.NewMessageBatch(ctx, nil)
		if err != nil {
			return err
		}
		for index := 0; index < 10; index++ {
			if err := batch.AddMessage(&azservicebus.Message{Body: []byte(fmt.Sprint(index))}, nil); err != nil {
				return err
			}
		}
		if err := sender.SendMessageBatch(ctx, batch, nil); err != nil {
			return err
		}
		receiver, err := bus.NewReceiverForQueue(queue, nil)
		if err != nil {
			return err
		}
		defer receiver.Close(ctx)
		for count := 0; count < 10; {
			messages, err := receiver.ReceiveMessages(ctx, 10, nil)
			if err != nil {
				return err
			}
			for _, message := range messages {
				if err := receiver.CompleteMessage(ctx, message, nil); err != nil {
					return err
				}
				count++
			}
		}
		return nil
	})
	check("abandon, then dead-letter with a reason", func(ctx context.Context) error {
		queue := fresh()
		if err := sendText(ctx, bus, queue, &azservicebus.Message{Body: []byte("x")}); err != nil {
			return err
		}
		receiver, err := bus.NewReceiverForQueue(queue, nil)
		if err != nil {
			return err
		}
		defer receiver.Close(ctx)
		message, err := receiveOne(ctx, receiver)
		if err != nil {
			return err
		}
		if err := receiver.AbandonMessage(ctx, message, nil); err != nil {
			return err
		}
		if message, err = receiveOne(ctx, receiver); err != nil {
			return err
		}
		reason, description := "bad", "very bad"
		options := &azservicebus.DeadLetterOptions{Reason: &reason, ErrorDescription: &description}
		if err := receiver.DeadLetterMessage(ctx, message, options); err != nil {
			return err
		}
		dead, err := bus.NewReceiverForQueue(queue, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
		if err != nil {
			return err
		}
		defer dead.Close(ctx)
		letter, err := receiveOne(ctx, dead)
		if err != nil {
			return err
		}
		if err := expect(letter.DeadLetterReason != nil && *letter.DeadLetterReason == "bad", "reason %v", letter.DeadLetterReason); err != nil {
			return err
		}
		return dead.CompleteMessage(ctx, letter, nil)
	})
	check("defer, receive deferred and complete", func(ctx context.Context) error {
		queue := fresh()
		if err := sendText(ctx, bus, queue, &azservicebus.Message{Body: []byte("later")}); err != nil {
			return err
		}
		receiver, err := bus.NewReceiverForQueue(queue, nil)
		if err != nil {
			return err
		}
		defer receiver.Close(ctx)
		message, err := receiveOne(ctx, receiver)
		if err != nil {
			return err
		}
		if err := receiver.DeferMessage(ctx, message, nil); err != nil {
			return err
		}
		deferred, err := receiver.ReceiveDeferredMessages(ctx, []int64{*message.SequenceNumber}, nil)
		if err != nil {
			return err
		}
		if err := receiver.RenewMessageLock(ctx, deferred[0], nil); err != nil {
			return err
		}
		return receiver.CompleteMessage(ctx, deferred[0], nil)
	})
	check("peek, schedule and cancel", func(ctx context.Context) error {
		queue := fresh()
		sender, err := bus.NewSender(queue, nil)
		if err != nil {
			return err
		}
		defer sender.Close(ctx)
		numbers, err := sender.ScheduleMessages(ctx, []*azservicebus.Message{{Body: []byte("x")}}, time.Now().Add(time.Hour), nil)
		if err != nil {
			return err
		}
		receiver, err := bus.NewReceiverForQueue(queue, nil)
		if err != nil {
			return err
		}
		defer receiver.Close(ctx)
		peeked, err := receiver.PeekMessages(ctx, 5, nil)
		if err != nil || len(peeked) != 1 {
			return fmt.Errorf("peeked %d: %v", len(peeked), err)
		}
		return sender.CancelScheduledMessages(ctx, numbers, nil)
	})
	check("receive and delete", func(ctx context.Context) error {
		queue := fresh()
		if err := sendText(ctx, bus, queue, &azservicebus.Message{Body: []byte("x")}); err != nil {
			return err
		}
		receiver, err := bus.NewReceiverForQueue(queue, &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete})
		if err != nil {
			return err
		}
		defer receiver.Close(ctx)
		_, err = receiveOne(ctx, receiver)
		return err
	})
	check("sessions: order, state and lock", func(ctx context.Context) error {
		session, other := "s", "warm"
		messages := []*azservicebus.Message{{Body: []byte("0"), SessionID: &session}, {Body: []byte("1"), SessionID: &session}}
		queue := fresh()
		if warm, err := bus.AcceptSessionForQueue(ctx, queue, other, nil); err != nil {
			return err
		} else if err := warm.Close(ctx); err != nil {
			return err
		}
		if err := sendText(ctx, bus, queue, messages...); err != nil {
			return err
		}
		receiver, err := bus.AcceptNextSessionForQueue(ctx, queue, nil)
		if err != nil {
			return err
		}
		defer receiver.Close(ctx)
		if err := receiver.SetSessionState(ctx, []byte("half way"), nil); err != nil {
			return err
		}
		state, err := receiver.GetSessionState(ctx, nil)
		if err != nil || string(state) != "half way" {
			return fmt.Errorf("state %q: %v", state, err)
		}
		if err := receiver.RenewSessionLock(ctx, nil); err != nil {
			return err
		}
		for index := 0; index < 2; index++ {
			received, err := receiver.ReceiveMessages(ctx, 1, nil)
			if err != nil {
				return err
			}
			if string(received[0].Body) != fmt.Sprint(index) {
				return fmt.Errorf("message %d is %q", index, received[0].Body)
			}
			if err := receiver.CompleteMessage(ctx, received[0], nil); err != nil {
				return err
			}
		}
		return nil
	})
	check("topic with a boolean filter", func(ctx context.Context) error {
		no, yes := map[string]any{"flag": false}, map[string]any{"flag": true}
		if err := sendText(ctx, bus, "sdk-go-topic",
			&azservicebus.Message{Body: []byte("no"), ApplicationProperties: no},
			&azservicebus.Message{Body: []byte("yes"), ApplicationProperties: yes}); err != nil {
			return err
		}
		receiver, err := bus.NewReceiverForSubscription("sdk-go-topic", "flagged", nil)
		if err != nil {
			return err
		}
		defer receiver.Close(ctx)
		message, err := receiveOne(ctx, receiver)
		if err != nil {
			return err
		}
		if err := expect(string(message.Body) == "yes", "received %q", message.Body); err != nil {
			return err
		}
		return receiver.CompleteMessage(ctx, message, nil)
	})
	check("a refused message fails the send", func(ctx context.Context) error {
		queue := fresh()
		if warm, err := bus.AcceptSessionForQueue(ctx, queue, "s", nil); err != nil {
			return err
		} else if err := warm.Close(ctx); err != nil {
			return err
		}
		err := sendText(ctx, bus, queue, &azservicebus.Message{Body: []byte("without a session")})
		return expect(err != nil, "the send succeeded")
	})
}

func eventHubs(connection string) {
	producerOf := func(hub string) (*azeventhubs.ProducerClient, error) {
		return azeventhubs.NewProducerClientFromConnectionString(connection, hub, nil)
	}
	send := func(ctx context.Context, hub string, options *azeventhubs.EventDataBatchOptions, events ...*azeventhubs.EventData) error {
		producer, err := producerOf(hub)
		if err != nil {
			return err
		}
		defer producer.Close(ctx)
		batch, err := producer.NewEventDataBatch(ctx, options)
		if err != nil {
			return err
		}
		for _, event := range events {
			if err := batch.AddEventData(event, nil); err != nil {
				return err
			}
		}
		return producer.SendEventDataBatch(ctx, batch, nil)
	}
	receive := func(ctx context.Context, hub string, position azeventhubs.StartPosition, count int) ([]*azeventhubs.ReceivedEventData, error) {
		consumer, err := azeventhubs.NewConsumerClientFromConnectionString(connection, hub, azeventhubs.DefaultConsumerGroup, nil)
		if err != nil {
			return nil, err
		}
		defer consumer.Close(ctx)
		partition, err := consumer.NewPartitionClient("0", &azeventhubs.PartitionClientOptions{StartPosition: position})
		if err != nil {
			return nil, err
		}
		defer partition.Close(ctx)
		return partition.ReceiveEvents(ctx, count, nil)
	}
	zero, earliest := "0", true
	first := azeventhubs.StartPosition{Earliest: &earliest}
	toZero := &azeventhubs.EventDataBatchOptions{PartitionID: &zero}
	check("properties of hub and partition", func(ctx context.Context) error {
		producer, err := producerOf(fresh())
		if err != nil {
			return err
		}
		defer producer.Close(ctx)
		properties, err := producer.GetEventHubProperties(ctx, nil)
		if err != nil {
			return err
		}
		if err := expect(len(properties.PartitionIDs) > 0, "no partitions"); err != nil {
			return err
		}
		partition, err := producer.GetPartitionProperties(ctx, "0", nil)
		if err != nil {
			return err
		}
		return expect(partition.IsEmpty, "the partition is not empty")
	})
	check("send a batch and receive it from the start", func(ctx context.Context) error {
		hub := fresh()
		properties := map[string]any{"yes": true, "whole": int64(5), "half": 0.5}
		if err := send(ctx, hub, toZero, &azeventhubs.EventData{Body: []byte("a"), Properties: properties}, &azeventhubs.EventData{Body: []byte("b")}); err != nil {
			return err
		}
		events, err := receive(ctx, hub, first, 2)
		if err != nil {
			return err
		}
		return expect(string(events[0].Body) == "a" && events[0].Properties["yes"] == true && events[1].SequenceNumber == 1, "%v", events)
	})
	check("receive from an enqueued time", func(ctx context.Context) error {
		hub := fresh()
		if err := send(ctx, hub, toZero, &azeventhubs.EventData{Body: []byte("before")}); err != nil {
			return err
		}
		events, err := receive(ctx, hub, first, 1)
		if err != nil {
			return err
		}
		if err := send(ctx, hub, toZero, &azeventhubs.EventData{Body: []byte("after")}); err != nil {
			return err
		}
		events, err = receive(ctx, hub, azeventhubs.StartPosition{EnqueuedTime: events[0].EnqueuedTime}, 1)
		if err != nil {
			return err
		}
		return expect(string(events[0].Body) == "after", "received %q", events[0].Body)
	})
	check("partition key and partition id", func(ctx context.Context) error {
		key := "k"
		return send(ctx, fresh(), &azeventhubs.EventDataBatchOptions{PartitionKey: &key}, &azeventhubs.EventData{Body: []byte("x")})
	})
	check("a refused batch fails the send", func(ctx context.Context) error {
		missing := "99"
		err := send(ctx, fresh(), &azeventhubs.EventDataBatchOptions{PartitionID: &missing}, &azeventhubs.EventData{Body: []byte("x")})
		return expect(err != nil, "the send succeeded")
	})
}
