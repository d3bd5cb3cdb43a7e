import { createHash } from 'node:crypto';
import { serialize } from 'node:v8';
import type { QuarantineConfig } from '../types/config.js';

const maxEntries = 1_000;

/** Requests that killed workers as the only suspect: after some kills they are refused for a while. */
export class Quarantine {
  readonly #afterKills: number;
  readonly #forMs: number;
  readonly #kills = new Map<string, { count: number; lastMs: number }>();
  /** Until when some request of a type is quarantined: payloads of all other types need not be looked at. */
  readonly #untilMs = new Map<string, number>();

  constructor({ afterKills = 3, forMs = 600_000 }: QuarantineConfig = {}) {
    this.#afterKills = afterKills;
    this.#forMs = forMs;
  }

  /** Nothing was ever quarantined. */
  get isEmpty(): boolean {
    return this.#untilMs.size === 0;
  }

  /** How many workers this request killed when it is quarantined, else 0. */
  killsOf(type: string, payload: unknown, nowMs: number): number {
    if (nowMs >= (this.#untilMs.get(type) ?? 0)) return 0;
    const entry = this.#kills.get(fingerprint(type, payload));
    return entry && entry.count >= this.#afterKills && nowMs - entry.lastMs < this.#forMs ? entry.count : 0;
  }

  noteKill(type: string, payload: unknown, nowMs: number): number {
    if (this.#afterKills === 0) return 0;
    const key = fingerprint(type, payload);
    const known = this.#kills.get(key);
    const count = (known && nowMs - known.lastMs < this.#forMs ? known.count : 0) + 1;
    this.#kills.delete(key);
    this.#kills.set(key, { count, lastMs: nowMs });
    if (count >= this.#afterKills) this.#untilMs.set(type, nowMs + this.#forMs);
    const [oldest] = this.#kills.keys();
    if (this.#kills.size > maxEntries && oldest !== undefined) this.#kills.delete(oldest);
    return count;
  }
}

/** The same type with the same payload is the same request. */
function fingerprint(type: string, payload: unknown): string {
  const hash = createHash('sha256').update(type).update('\0');
  try {
    return hash.update(serialize(payload)).digest('base64');
  } catch {
    return hash.digest('base64');
  }
}
