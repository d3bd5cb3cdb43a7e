import type { PropertyChanges, SqlResult, SystemProperty } from '../filters/sql-values.js';
import type { BrokerLog } from './broker-log.js';
import type { MessageContent } from './message.js';

interface PlainOptions {
  readonly id?: string;
  readonly sessionId?: string;
  readonly timeToLiveMs?: number;
  readonly scheduledAtMs?: number;
  readonly bytes?: number;
  readonly system?: Readonly<Partial<Record<SystemProperty, string>>>;
  readonly user?: Readonly<Record<string, SqlResult>>;
}

/** A message content without AMQP, for tests of the broker and of filters. */
export class PlainContent implements MessageContent {
  readonly messageId: string;
  readonly sessionId: string | undefined;
  readonly timeToLiveMs: number | undefined;
  readonly scheduledAtMs: number | undefined;
  readonly bytes: number;
  readonly userProperties: ReadonlyMap<string, SqlResult>;
  readonly #options: PlainOptions;

  constructor(options: PlainOptions = {}) {
    this.#options = options;
    this.messageId = options.system?.messageid ?? options.id ?? 'm';
    this.sessionId = options.system?.sessionid ?? options.sessionId;
    this.timeToLiveMs = options.timeToLiveMs;
    this.scheduledAtMs = options.scheduledAtMs;
    this.bytes = options.bytes ?? 100;
    this.userProperties = new Map(Object.entries(options.user ?? {}));
  }

  system(name: SystemProperty): SqlResult {
    return name === 'sessionid' ? this.sessionId : name === 'messageid' ? this.messageId : this.#options.system?.[name];
  }

  user(name: string): SqlResult {
    for (const [key, value] of this.userProperties) if (key.toLowerCase() === name.toLowerCase()) return value;
    return undefined;
  }

  with(changes: PropertyChanges): PlainContent {
    const user = new Map(this.userProperties);
    for (const [name, value] of changes.user) {
      if (value === undefined) user.delete(name);
      else user.set(name, value);
    }
    const changed = [...changes.system].filter((entry): entry is [SystemProperty, string] => entry[1] !== null);
    const system = { ...this.#options.system, ...Object.fromEntries(changed) };
    return new PlainContent({ ...this.#options, system, user: Object.fromEntries(user) });
  }
}

/** For brokers whose changes need not survive. */
export const noLog: BrokerLog = {
  entity: () => undefined,
  entityDeleted: () => undefined,
  message: () => undefined,
  removed: () => undefined,
  delivered: () => undefined,
  returned: () => undefined,
  sessionState: () => undefined,
  seen: () => undefined,
};
