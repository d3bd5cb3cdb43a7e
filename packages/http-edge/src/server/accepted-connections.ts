import type { Socket } from 'node:net';
import type { Clock } from '@drover/service-kit';
import type { PortLimits } from './port-limits.js';

type AcceptLimits = Pick<
  PortLimits,
  'connections' | 'connectionsPerClient' | 'reservedConnections' | 'firstByteMs' | 'writeMs' | 'checkEveryMs'
>;

interface Entry {
  readonly client: string;
  readonly openedMs: number;
  readonly isReserved: boolean;
  /** No byte has arrived yet. */
  isSilent: boolean;
  /** Bytes of answers that the client's system had taken at the latest check, and since when it has taken no more. */
  takenBytes: number;
  takenMs: number;
}

/**
 * All connections of a port, on the fast lane and on Node's server.
 *
 * - A client has a share of the connections: one client cannot lock out the others.
 * - A connection beyond the share or the total is reserved: it may ask for the health of the process and nothing else. The
 *   reserve cannot be held: when it is full, a new connection replaces the oldest one, a silent one first.
 * - A connection on which nothing arrives, or whose client does not read its answers, is closed.
 */
export class AcceptedConnections {
  readonly #limits: AcceptLimits;
  readonly #clock: Clock;
  readonly #entries = new Map<Socket, Entry>();
  /** How many connections each client has, without reserved ones. */
  readonly #clients = new Map<string, number>();
  /** The same of all clients together. */
  #counted = 0;
  /** Oldest first. */
  readonly #reserved = new Set<Socket>();
  #cancelCheck: (() => void) | undefined;

  constructor(limits: AcceptLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  isReserved(socket: Socket): boolean {
    return this.#reserved.has(socket);
  }

  /** Counts a new connection until it closes, and watches it. */
  add(socket: Socket): void {
    const client = clientOf(socket.remoteAddress ?? '');
    const isReserved = !this.#hasRoom(client);
    if (isReserved) {
      if (this.#reserved.size >= this.#limits.reservedConnections) this.#evictReserved();
      this.#reserved.add(socket);
    }
    this.#watch(socket, { client, isReserved, isSilent: true });
  }

  /** The same for a connection that another process has accepted and read from. Returns false, and does not count it, if its client has no room. */
  adopt(socket: Socket): boolean {
    const client = clientOf(socket.remoteAddress ?? '');
    const hasRoom = this.#hasRoom(client);
    if (hasRoom) this.#watch(socket, { client, isReserved: false, isSilent: false });
    return hasRoom;
  }

  /** The same for a connection of this port that another process gives back: it was admitted before. */
  takeBack(socket: Socket): void {
    this.#watch(socket, { client: clientOf(socket.remoteAddress ?? ''), isReserved: false, isSilent: false });
  }

  #hasRoom(client: string): boolean {
    const { connections, connectionsPerClient } = this.#limits;
    return (this.#clients.get(client) ?? 0) < connectionsPerClient && this.#counted < connections;
  }

  #watch(socket: Socket, { client, isReserved, isSilent }: Pick<Entry, 'client' | 'isReserved' | 'isSilent'>): void {
    if (!isReserved) {
      this.#clients.set(client, (this.#clients.get(client) ?? 0) + 1);
      this.#counted += 1;
    }
    const now = this.#clock.monotonicMs();
    const entry: Entry = { client, openedMs: now, isReserved, isSilent, takenBytes: 0, takenMs: now };
    this.#entries.set(socket, entry);
    socket.once('close', () => this.#remove(socket, entry));
    this.#cancelCheck ??= this.#clock.after(this.#limits.checkEveryMs, this.#check);
  }

  #evictReserved(): void {
    const [oldest] = this.#reserved;
    let evicted = oldest;
    for (const socket of this.#reserved)
      if (socket.bytesRead === 0) {
        evicted = socket;
        break;
      }
    if (!evicted) return;
    this.#reserved.delete(evicted);
    evicted.destroy();
  }

  #remove(socket: Socket, { client, isReserved }: Entry): void {
    this.#entries.delete(socket);
    if (isReserved) this.#reserved.delete(socket);
    else {
      this.#counted -= 1;
      const left = (this.#clients.get(client) ?? 1) - 1;
      if (left === 0) this.#clients.delete(client);
      else this.#clients.set(client, left);
    }
    if (this.#entries.size > 0) return;
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
  }

  readonly #check = (): void => {
    const { firstByteMs, writeMs, checkEveryMs } = this.#limits;
    const now = this.#clock.monotonicMs();
    this.#cancelCheck = this.#clock.after(checkEveryMs, this.#check);
    for (const [socket, entry] of this.#entries) {
      if (entry.isSilent && socket.bytesRead > 0) entry.isSilent = false;
      if (entry.isSilent && now - entry.openedMs >= firstByteMs) socket.destroy();
      else if (socket.writableLength === 0) entry.takenMs = now;
      else {
        const taken = takenBytes(socket);
        if (taken !== entry.takenBytes) entry.takenMs = now;
        else if (now - entry.takenMs >= writeMs) socket.destroy();
        entry.takenBytes = taken;
      }
    }
  };
}

/** What Node's own idle timeout of sockets looks at, too. */
interface WriteProgress {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}

/**
 * Returns how many bytes the client's system has taken. The public properties of a socket tell this for completed writes only:
 * by them a client that takes a large answer slowly could not be told from one that takes nothing.
 */
function takenBytes(socket: Socket & { readonly _handle?: WriteProgress | null }): number {
  const taken = (socket._handle?.bytesWritten ?? 0) - (socket._handle?.writeQueueSize ?? 0);
  return Number.isNaN(taken) ? socket.bytesWritten - socket.writableLength : taken;
}

/**
 * Returns the part of an address by which connections are counted. A client with IPv6 usually has a network of 64 bits to
 * itself, and could come from another address each time.
 */
export function clientOf(address: string): string {
  if (!address.includes(':')) return address;
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1);
  const [before = '', after] = address.split('::');
  const first = before === '' ? [] : before.split(':');
  const last = after === undefined || after === '' ? [] : after.split(':');
  const zeros = after === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array.from({ length: zeros }, () => '0'), ...last].slice(0, 4).join(':');
}
