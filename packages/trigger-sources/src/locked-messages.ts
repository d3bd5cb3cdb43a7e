import { serviceBusLockUnknown } from './errors.js';

/** Values that a settlement writes into the application properties of a message. */
export type MessageProperties = Readonly<Record<string, string | number | boolean | Date | null>>;

export interface DeadLetterDetails {
  readonly reason?: string | undefined;
  readonly description?: string | undefined;
  readonly properties?: MessageProperties | undefined;
}

/**
 * A message that this process has locked, for the function that runs it. The first settlement wins; each later one, and each
 * after the loss of the lock, rejects with SERVICE_BUS_LOCK_UNKNOWN. Every method resolves when the service has confirmed it.
 */
export interface LockedMessage {
  complete(): Promise<void>;
  /** Delivered again at once, with these application properties. */
  abandon(properties?: MessageProperties): Promise<void>;
  deadLetter(details: DeadLetterDetails): Promise<void>;
  /** Delivered only to a receiver that asks for its sequence number. */
  defer(properties?: MessageProperties): Promise<void>;
  /** Extends the lock, also beyond maxAutoLockRenewalDuration. Resolves with its new end. */
  renew(): Promise<Date>;
}

/** A session that this process has locked, for the functions that run its messages. */
export interface LockedSession {
  /** Resolves with undefined if the session has no state. */
  state(): Promise<Uint8Array | undefined>;
  setState(state: Uint8Array | undefined): Promise<void>;
  /** Lets other consumers have the session once its running messages are settled. */
  release(): Promise<void>;
  /** Resolves with the new end of the lock. */
  renew(): Promise<Date>;
}

/**
 * The Service Bus messages and sessions that functions of this process have locked. Listeners add them while they run; the
 * Settlement service of the runtime finds them by lock token or session id. Both exist only while their lock does.
 */
export class LockedMessages {
  readonly #messages = new Map<string, LockedMessage>();
  /** By session id, then by application. */
  readonly #sessions = new Map<string, Map<string, LockedSession>>();

  /** Adds a message. The caller must remove it when its run has ended. */
  add(lockToken: string, message: LockedMessage): void {
    this.#messages.set(lockToken.toLowerCase(), message);
  }

  remove(lockToken: string): void {
    this.#messages.delete(lockToken.toLowerCase());
  }

  /** Returns the message of a lock token. Throws SERVICE_BUS_LOCK_UNKNOWN. */
  message(lockToken: string): LockedMessage {
    const known = this.#messages.get(lockToken.toLowerCase());
    if (!known) throw serviceBusLockUnknown({ what: 'message', id: lockToken });
    return known;
  }

  /**
   * Adds a session of an application. Session ids are unique per entity only: of two sessions of an application with the same id,
   * the later one is found. The caller must call the returned function when the session is released.
   */
  addSession(application: string, sessionId: string, session: LockedSession): () => void {
    const holders = this.#sessions.get(sessionId) ?? new Map<string, LockedSession>();
    this.#sessions.set(sessionId, holders.set(application, session));
    return () => {
      if (holders.get(application) === session) holders.delete(application);
      if (holders.size === 0 && this.#sessions.get(sessionId) === holders) this.#sessions.delete(sessionId);
    };
  }

  /**
   * Returns the session of an id. Throws SERVICE_BUS_LOCK_UNKNOWN if no application has it, or more than one: a call names a session
   * by its id alone, and must not reach that of another application.
   */
  session(sessionId: string): LockedSession {
    const [only, ...others] = this.#sessions.get(sessionId)?.values() ?? [];
    if (!only || others.length > 0) throw serviceBusLockUnknown({ what: 'session', id: sessionId });
    return only;
  }
}
