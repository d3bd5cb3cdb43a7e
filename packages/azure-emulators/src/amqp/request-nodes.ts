import type { AmqpConnection } from './amqp-connection.js';
import type { IncomingDelivery, ManagementReply, ManagementRequest } from './amqp-service.js';
import type { ConsumerLinkEnd } from './consumer-link-end.js';
import { internalError } from './link-end.js';
import type { ProducerLinkEnd } from './producer-link-end.js';
import { decodeRequest, encodeReply, type NodeRequest } from './request-message.js';

export type AnswerRequest = (
  request: ManagementRequest,
  connection: AmqpConnection,
) => ManagementReply | Promise<ManagementReply>;

/** Replies that wait for credit; a client that asks without ever granting credit loses the oldest. */
const maxWaitingReplies = 1000;

/**
 * Request/response over a pair of links: the client sends requests on one link and receives the replies on another link from
 * the same node (`$cbs`, `$management`). Replies find their link by the request's reply-to, else by the node's address.
 */
export class RequestNodes {
  readonly #waiting = new Map<ConsumerLinkEnd, Buffer[]>();

  acceptReplyLink(link: ConsumerLinkEnd): void {
    const replies: Buffer[] = [];
    this.#waiting.set(link, replies);
    link.accept({
      onCredit: () => flush(link, replies),
      onClose: () => this.#waiting.delete(link),
    });
  }

  acceptRequestLink(link: ProducerLinkEnd, connection: AmqpConnection, answer: AnswerRequest): void {
    link.accept({
      onMessage: (delivery) => {
        // A request that cannot be answered, for example one with an id that has no encoding, costs its link.
        this.#serve(delivery, link, connection, answer).catch((error: unknown) => link.close(internalError(error)));
      },
    });
  }

  async #serve(
    delivery: IncomingDelivery,
    link: ProducerLinkEnd,
    connection: AmqpConnection,
    answer: AnswerRequest,
  ): Promise<void> {
    const message = decodeRequest(delivery.payload);
    if (!message) {
      delivery.reject({ condition: 'amqp:decode-error', description: 'The request could not be decoded.' });
      return;
    }
    delivery.accept();
    const properties = message.applicationProperties;
    const { operation } = properties;
    const request: ManagementRequest = {
      address: link.address,
      operation: typeof operation === 'string' ? operation : '',
      properties,
      body: message.body,
      connection,
    };
    const reply = await answerSafely(answer, request, connection);
    this.#send(link, connection, message, reply);
  }

  #send(link: ProducerLinkEnd, connection: AmqpConnection, request: NodeRequest, reply: ManagementReply): void {
    const target = replyLink(connection, request.replyTo, link.address);
    const replies = target && this.#waiting.get(target);
    if (!target || !replies) return; // the client is gone
    replies.push(encodeReply(request, reply));
    if (replies.length > maxWaitingReplies) replies.shift();
    flush(target, replies);
  }
}

function flush(link: ConsumerLinkEnd, replies: Buffer[]): void {
  while (link.capacity > 0) {
    const payload = replies.shift();
    if (!payload) return;
    link.deliver({ payload });
  }
}

function replyLink(
  connection: AmqpConnection,
  replyTo: string | undefined,
  address: string,
): ConsumerLinkEnd | undefined {
  const links = [...connection.openConsumers];
  return (
    links.find((link) => link.targetAddress === replyTo && replyTo !== undefined && replyTo !== '') ??
    links.find((link) => link.name === replyTo) ??
    links.find((link) => link.address.toLowerCase() === address.toLowerCase())
  );
}

async function answerSafely(
  answer: AnswerRequest,
  request: ManagementRequest,
  connection: AmqpConnection,
): Promise<ManagementReply> {
  try {
    return await answer(request, connection);
  } catch (error) {
    return { status: 500, ...internalError(error) };
  }
}
