import type {
  BindingExtension,
  BindingExtensionFactory,
  BindingRequest,
  ExtensionParts,
  PreparedTrigger,
  Webhook,
  WebhookAnswer,
  WebhookRequest,
} from '../binding-extension.js';
import { triggerOptionsInvalid } from '../errors.js';
import { commonBindingKeys, oneWordOf, readByRules } from '../options/option-rules.js';
import type { OutputTarget } from '../trigger-source.js';
import { EventGridListener, type PushOutcome } from './event-grid-listener.js';
import { answerHandshake, refuseEvents } from './handshake.js';
import { EventGridOutput, eventGridTopic } from './event-grid-output.js';
import type { EventGridObservation } from './observations.js';
import { headerOf, readEvents } from './read-events.js';

type EventGridParts = ExtensionParts<object, EventGridObservation>;

const rules = { cardinality: oneWordOf('one', 'many') };

/** The Event Grid triggers of one application, and the webhook that receives their events. */
class EventGridExtension implements BindingExtension {
  readonly #parts: EventGridParts;
  /** By lower-case function name. */
  readonly #listeners = new Map<string, EventGridListener>();

  constructor(parts: EventGridParts) {
    this.#parts = parts;
  }

  readonly webhook: Webhook = {
    has: (functionName) => this.#listeners.has(functionName.toLowerCase()),
    serve: (functionName, request, signal) => this.#serve(functionName, request, signal),
  };

  prepare({ functionName, options }: BindingRequest): PreparedTrigger {
    const { clock, observe } = this.#parts;
    const { values, problems, unknownKeys } = readByRules(rules, options);
    if (problems.length > 0)
      throw triggerOptionsInvalid({
        functionName,
        problems: problems.map(({ key, problem }) => `its eventGridTrigger: ${key} ${problem}`),
      });
    const isBatched = values.cardinality === 'many';
    return {
      unknownKeys: unknownKeys.filter((key) => !commonBindingKeys.has(key.toLowerCase())),
      retryBackOffMs: 0,
      listen: (deliver) => {
        const listener = new EventGridListener({ functionName, isBatched, deliver, clock, observe });
        this.#listeners.set(functionName.toLowerCase(), listener);
        return listener;
      },
      park: () => ({ kind: 'requests' }),
    };
  }

  target({ functionName, options: binding }: BindingRequest): OutputTarget {
    const { settings, clock, randomness, observe } = this.#parts;
    const topic = eventGridTopic({ functionName, binding, settings });
    return new EventGridOutput({ functionName, topic, clock, randomness, observe });
  }

  async #serve(functionName: string, request: WebhookRequest, signal: AbortSignal): Promise<WebhookAnswer> {
    const { observe } = this.#parts;
    const listener = this.#listeners.get(functionName.toLowerCase());
    if (!listener) return { status: 404 };
    const handshake = answerHandshake(request);
    if (handshake) return handshake;
    const read = readEvents(request);
    switch (read.kind) {
      case 'validation':
        observe({ kind: 'event-grid.subscribed', functionName });
        return { status: 200, body: { validationResponse: read.code } };
      case 'unsubscribed':
        return { status: 202 };
      case 'invalid':
        observe({ kind: 'event-grid.invalid', functionName, problem: read.problem });
        return refuseEvents(read.problem);
      case 'events':
        return answerTo(await listener.push(read.events, attemptOf(request), signal));
    }
  }
}

/** Event Grid sends again after 5xx. After 400 it does not: the event goes to its dead letters. */
function answerTo(outcome: PushOutcome): WebhookAnswer {
  switch (outcome) {
    case 'accepted':
      return { status: 202 };
    case 'failed':
      return { status: 500, body: { error: 'The function failed for an event. Send the events again.' } };
    case 'rejected':
      return { status: 400, body: { error: 'The function rejected an event. Do not send it again.' } };
    case 'unavailable':
      return {
        status: 503,
        headers: { 'retry-after': '10' },
        body: { error: 'The function cannot run now. Send the events again.' },
      };
  }
}

/** Event Grid counts the deliveries before this one. */
function attemptOf(request: WebhookRequest): number {
  const before = Number(headerOf(request, 'aeg-delivery-count'));
  return Number.isInteger(before) && before > 0 ? before + 1 : 1;
}

export const eventGridExtension: BindingExtensionFactory<object, EventGridObservation> = {
  types: { triggers: ['eventGridTrigger'], inputs: [], outputs: ['eventGrid'] },
  webhookName: 'EventGrid',
  create: (parts) => new EventGridExtension(parts),
};
