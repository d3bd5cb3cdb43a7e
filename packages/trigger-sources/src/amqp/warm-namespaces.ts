import type { Clock, Randomness } from '@drover/service-kit';
import { requestTimeoutMs, withDeadline } from '../requests.js';
import { secretFingerprint } from '../secret-fingerprint.js';
import { openNamespace, type NamespaceRequest } from './open-namespace.js';
import type { NamespaceConnection } from './namespace-connection.js';

interface WarmNamespacesIo {
  readonly clock: Clock;
  readonly randomness: Randomness;
}

/** A namespace that listeners may need soon. */
interface Entry {
  readonly request: NamespaceRequest;
  /** Callers of `keep` that have not ended it. */
  wanted: number;
  isOpening: boolean;
  connection: NamespaceConnection | undefined;
  cancel: () => void;
}

/** Beyond this number of namespaces, listeners connect when they start. */
const mostNamespaces = 32;
/** The listener that takes the connection starts after the watch of its source has ended. */
const keptForMs = 10_000;
/** The next one is opened when the listener that took the last one has its messages. */
const refillAfterMs = 1_000;
const retryAfterMs = 5_000;

/**
 * One open connection for each namespace of parked triggers, which the next listener there takes over: connecting takes longer than
 * anything else of waking up (`bench:cold-start`, Service Bus message from zero). The number depends on namespaces and credentials, not
 * on applications.
 */
export class WarmNamespaces {
  readonly #io: WarmNamespacesIo;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new AbortController();

  constructor(io: WarmNamespacesIo) {
    this.#io = io;
  }

  /** Keeps a connection open for the next listener. Returns the function that ends it. */
  keep(request: NamespaceRequest): () => void {
    const key = keyOf(request);
    const entry = this.#entries.get(key) ?? this.#add(key, request);
    if (!entry) return () => undefined;
    entry.wanted += 1;
    if (!entry.connection && !entry.isOpening) void this.#open(entry);
    let isKept = true;
    return () => {
      if (!isKept) return;
      isKept = false;
      entry.wanted -= 1;
      if (entry.wanted === 0) this.#after(entry, keptForMs, () => this.#forget(key, entry));
    };
  }

  /** Hands over the connection, which the caller closes; undefined if there is none. */
  take(request: NamespaceRequest): NamespaceConnection | undefined {
    const entry = this.#entries.get(keyOf(request));
    const connection = entry?.connection;
    if (!entry || !connection || connection.isLost) return undefined;
    entry.connection = undefined;
    if (entry.wanted > 0) this.#after(entry, refillAfterMs, () => void this.#open(entry));
    return connection;
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the runtime stops'));
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    await Promise.all(
      entries.map(async ({ cancel, connection }) => {
        cancel();
        await connection?.close();
      }),
    );
  }

  #add(key: string, request: NamespaceRequest): Entry | undefined {
    if (this.#entries.size >= mostNamespaces) return undefined;
    const entry = { request, wanted: 0, isOpening: false, connection: undefined, cancel: () => undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  #forget(key: string, entry: Entry): void {
    if (entry.wanted > 0) return;
    this.#entries.delete(key);
    void entry.connection?.close();
  }

  async #open(entry: Entry): Promise<void> {
    const { clock, randomness } = this.#io;
    const { signal } = this.#closing;
    if (entry.connection || entry.isOpening || entry.wanted === 0 || signal.aborted) return;
    entry.isOpening = true;
    try {
      const io = { clock, uuid: () => randomness.uuid() };
      const connection = await withDeadline(clock, requestTimeoutMs, signal, (limited) =>
        openNamespace(entry.request, io, limited),
      );
      if (signal.aborted) return void connection.close();
      entry.connection = connection;
      void connection.lost.then(() => this.#lost(entry, connection));
    } catch {
      // The watch of the source, or its listener, says that the service is unavailable.
      this.#after(entry, retryAfterMs, () => void this.#open(entry));
    } finally {
      entry.isOpening = false;
    }
  }

  #lost(entry: Entry, connection: NamespaceConnection): void {
    if (entry.connection !== connection) return; // a listener has it
    entry.connection = undefined;
    if (entry.wanted > 0) this.#after(entry, retryAfterMs, () => void this.#open(entry));
  }

  #after(entry: Entry, delayMs: number, act: () => void): void {
    entry.cancel();
    if (!this.#closing.signal.aborted) entry.cancel = this.#io.clock.after(delayMs, act);
  }
}

function keyOf({ namespace, customEndpointAddress, product }: NamespaceRequest): string {
  const { host, port, access } = namespace;
  const secret = access.kind === 'signature' ? access.signature : access.key;
  return `${product} ${host}:${port} ${secretFingerprint(secret)} ${customEndpointAddress ?? ''}`;
}
