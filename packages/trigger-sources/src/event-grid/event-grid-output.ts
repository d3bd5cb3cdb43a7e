import { Secret, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import {
  eventGridEventUnsendable,
  eventGridUnavailable,
  triggerConnectionInvalid,
  triggerOptionsInvalid,
} from '../errors.js';
import { readByRules, type OptionRule } from '../options/option-rules.js';
import { retrying } from '../storage/retrying.js';
import type { OutputMessage, OutputTarget } from '../trigger-source.js';
import type { EventGridObservation } from './observations.js';

const settingName: OptionRule<string> = {
  allowed: 'the name of a setting',
  read: (value) => (typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined),
};
const rules = { topicEndpointUri: settingName, topicKeySetting: settingName };

/** The topic of an output: where to send, and the key. */
export interface EventGridTopic {
  readonly uri: string;
  readonly key: Secret;
}

interface TopicRequest {
  readonly functionName: string;
  readonly binding: unknown;
  readonly settings: Readonly<Record<string, string | undefined>>;
}

/** Resolves the topic of an output binding, which names two settings. Throws TRIGGER_OPTIONS_INVALID or TRIGGER_CONNECTION_INVALID. */
export function eventGridTopic({ functionName, binding, settings }: TopicRequest): EventGridTopic {
  const { values, problems } = readByRules(rules, binding);
  const missing = Object.keys(rules).filter(
    (key) => !(key in values) && !problems.some((problem) => problem.key === key),
  );
  const found = [
    ...missing.map((key) => `its eventGrid output needs ${key}: ${settingName.allowed}`),
    ...problems.map(({ key, problem }) => `its eventGrid output: ${key} ${problem}`),
  ];
  const { topicEndpointUri, topicKeySetting } = values;
  if (topicEndpointUri === undefined || topicKeySetting === undefined)
    throw triggerOptionsInvalid({ functionName, problems: found });
  const folded = new Map(Object.entries(settings).map(([name, value]) => [name.toLowerCase(), value?.trim()]));
  const valueOf = (setting: string): string => {
    const value = folded.get(setting.toLowerCase());
    if (value) return value;
    throw triggerConnectionInvalid({
      functionName,
      setting,
      problem: 'does not exist. Set it for the topic of the output',
    });
  };
  const uri = valueOf(topicEndpointUri);
  if (!URL.canParse(uri) || !/^https?:/i.test(uri))
    throw triggerConnectionInvalid({ functionName, setting: topicEndpointUri, problem: 'is not the URL of a topic' });
  return { uri, key: new Secret(valueOf(topicKeySetting)) };
}

interface EventGridOutputOptions {
  readonly functionName: string;
  readonly topic: EventGridTopic;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EventGridObservation>;
}

type Event = Readonly<Record<string, unknown>>;

/** The service takes 1 MB per request. */
const maxRequestBytes = 1_000_000;

/** Sends events to one topic. If `send` fails, some may have been stored: delivery is at least once. */
export class EventGridOutput implements OutputTarget {
  readonly #options: EventGridOutputOptions;

  constructor(options: EventGridOutputOptions) {
    this.#options = options;
  }

  async send(messages: readonly OutputMessage[], signal: AbortSignal): Promise<void> {
    const { functionName, observe } = this.#options;
    // All events are checked before the first is sent, so that an invalid one fails the whole call.
    const events = messages.map(({ body }) => this.#toEvent(body));
    const isCloud = ({ specversion }: Event): boolean => specversion !== undefined;
    for (const schema of ['cloud', 'grid'] as const)
      for (const texts of this.#inRequests(events.filter((event) => isCloud(event) === (schema === 'cloud'))))
        await this.#post(schema, `[${texts.join(',')}]`, signal);
    observe({ kind: 'event-grid.sent', functionName, events: events.length });
  }

  /** Adds what the schema of Event Grid requires and the function has left out. */
  #toEvent(body: string | Uint8Array): Event {
    const { clock, randomness } = this.#options;
    const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
    const event = parseObject(text);
    if (!event) throw this.#unsendable('is not a JSON object. Return an event, or an array of events');
    const id = randomness.uuid();
    const now = new Date(clock.now()).toISOString();
    if (event['specversion'] !== undefined) return { id, time: now, ...event };
    const missing = ['subject', 'eventType'].find((name) => typeof event[name] !== 'string');
    if (missing !== undefined) throw this.#unsendable(`has no ${missing}`);
    return { id, eventTime: now, dataVersion: '1.0', ...event };
  }

  #inRequests(events: readonly Event[]): readonly (readonly string[])[] {
    const requests: string[][] = [];
    let bytes = Number.POSITIVE_INFINITY;
    for (const event of events) {
      const text = JSON.stringify(event);
      const length = Buffer.byteLength(text) + 1;
      if (length > maxRequestBytes) throw this.#unsendable(`is larger than ${maxRequestBytes} bytes`);
      if (bytes + length > maxRequestBytes) {
        requests.push([]);
        bytes = 1;
      }
      requests.at(-1)?.push(text);
      bytes += length;
    }
    return requests;
  }

  async #post(schema: 'cloud' | 'grid', body: string, signal: AbortSignal): Promise<void> {
    const { topic, clock, randomness } = this.#options;
    const headers = {
      'content-type': schema === 'cloud' ? 'application/cloudevents-batch+json' : 'application/json',
      'aeg-sas-key': topic.key.reveal(),
      // A topic ignores it; by it, the webhook of a function on this machine can stand for a topic.
      'aeg-event-type': 'Notification',
    };
    try {
      await retrying(
        async (limited) => {
          const answer = await fetch(topic.uri, { method: 'POST', headers, body, signal: limited });
          const text = await answer.text();
          if (!answer.ok) throw new TopicRefusal(answer.status, text);
        },
        { clock, randomness, signal, mayRetry: (error) => !(error instanceof TopicRefusal) || error.mayPass },
      );
    } catch (error) {
      signal.throwIfAborted();
      throw eventGridUnavailable({ topic: shown(topic.uri), reason: reasonOf(error) }, error);
    }
  }

  #unsendable(problem: string): Error {
    return eventGridEventUnsendable({ topic: shown(this.#options.topic.uri), problem });
  }
}

class TopicRefusal extends Error {
  readonly mayPass: boolean;

  constructor(status: number, text: string) {
    super(`it answered ${status} ${text.slice(0, 200)}`.trim());
    this.mayPass = status >= 500 || status === 408 || status === 429;
  }
}

/** `fetch` hides the reason in the cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : { message: String(error), cause: undefined };
  return cause instanceof Error && cause.message !== '' ? `${message}: ${cause.message}` : message;
}

/** Without the query, which may hold a signature. */
function shown(uri: string): string {
  const { origin, pathname } = new URL(uri);
  return `${origin}${pathname}`;
}

function parseObject(text: string): Event | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Event) : undefined; // an object
  } catch {
    return undefined;
  }
}
