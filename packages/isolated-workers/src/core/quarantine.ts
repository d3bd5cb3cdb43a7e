import type { QuarantineConfig } from '../types/config.js';

const maxEntries = 1_000;

/** Counts the workers that a request killed as the only suspect, and refuses the request after too many. */
export class Quarantine {
  readonly #afterKills: number;
  readonly #forMs: number;
  readonly #kills = new Map<string, { count: number; lastMs: number }>();
  /** Until when any request of a type is quarantined. Payloads of other types need no fingerprint. */
  readonly #untilMs = new Map<string, number>();

  constructor({ afterKills = 3, forMs = 600_000 }: QuarantineConfig = {}) {
    this.#afterKills = afterKills;
    this.#forMs = forMs;
  }

  /** True when no request was ever quarantined. */
  get isEmpty(): boolean {
    return this.#untilMs.size === 0;
  }

  /** Returns how many workers this request killed if it is quarantined, otherwise 0. */
  killsOf(type: string, payload: unknown, nowMs: number): number {
    if (nowMs >= (this.#untilMs.get(type) ?? 0)) return 0;
    const entry = this.#kills.get(fingerprint(type, payload));
    return entry && entry.count >= this.#afterKills && nowMs - entry.lastMs < this.#forMs ? entry.count : 0;
  }

  recordKill(type: string, payload: unknown, nowMs: number): number {
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

/** Requests of the same type with the same payload have the same fingerprint. */
function fingerprint(type: string, payload: unknown): string {
  // On demand: most hosts never see a crash.
  const { createHash } = process.getBuiltinModule('node:crypto');
  const { serialize } = process.getBuiltinModule('node:v8');
  const hash = createHash('sha256').update(type).update('\0');
  try {
    return hash.update(serialize(payload)).digest('base64');
  } catch {
    return hash.digest('base64');
  }
}
