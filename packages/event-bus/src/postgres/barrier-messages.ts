import type { BarrierRequest } from '../barrier-parts.js';

/** A request to all members. The position is added when it is sent. */
export interface Asked extends Omit<BarrierRequest, 'position'> {
  readonly id: string;
  /** The channel for the answers. */
  readonly answerTo: string;
}

export interface Answered {
  readonly id: string;
  readonly members: readonly number[];
  readonly waitsFor: readonly string[];
}

/** No request may keep a place among those that are being answered for longer. */
const longestWaitMs = 600_000;

/**
 * Reads a request. Returns undefined for anything else: PostgreSQL lets every session of the database notify any channel, whatever its
 * role may read, so a payload may come from any program.
 */
export function readAsked(payload: string): (Asked & BarrierRequest) | undefined {
  const { id, answerTo, position, withinMs, about } = readObject(payload);
  if (typeof id !== 'string' || typeof answerTo !== 'string') return undefined;
  if (!Number.isSafeInteger(position) || typeof withinMs !== 'number' || !(withinMs >= 0)) return undefined;
  return {
    id,
    answerTo,
    position: Number(position),
    withinMs: Math.min(withinMs, longestWaitMs),
    about: about as BarrierRequest['about'], // a participant that throws because of it leaves the request unanswered
  };
}

/** Reads an answer. Returns undefined for anything else, as `readAsked` does. */
export function readAnswered(payload: string): Answered | undefined {
  const { id, members, waitsFor } = readObject(payload);
  if (typeof id !== 'string' || !isListOf(members, 'number') || !isListOf(waitsFor, 'string')) return undefined;
  return { id, members, waitsFor };
}

/** Returns an empty object for what is none. */
function readObject(payload: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(payload);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function isListOf(value: unknown, type: 'number'): value is readonly number[];
function isListOf(value: unknown, type: 'string'): value is readonly string[];
function isListOf(value: unknown, type: 'number' | 'string'): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === type);
}
