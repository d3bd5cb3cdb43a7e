import type { TypedData } from '@drover/function-rpc';
import type { OutputMessage } from '@drover/trigger-sources';
import { splitJsonArray } from './json-array.js';

/** Messages, or the reason why they cannot be sent. */
export type Messages = { readonly messages: readonly OutputMessage[] } | { readonly problem: string };

/**
 * Converts the value of an output into messages: one per element of an array, otherwise one; objects become JSON; null sends
 * nothing. As in the official host, a string that is a JSON array counts as an array. With `isWhole`, an array in JSON is one
 * message.
 */
export function toOutputMessages(data: TypedData | undefined, isWhole = false): Messages {
  if (!data) return { messages: [] };
  if (data.string !== undefined) return isWhole ? { messages: [{ body: data.string }] } : fromText(data.string);
  if (data.json !== undefined) return fromJson(data.json, isWhole);
  const bytes = data.bytes ?? data.stream;
  if (bytes) return { messages: [{ body: bytes }] };
  const number = data.int ?? data.double;
  if (number !== undefined) return { messages: [{ body: String(number) }] };
  if (data.http) return { problem: 'an HTTP response cannot be sent as a message' };
  if (data.modelBindingData || data.collectionModelBindingData)
    return { problem: 'a reference to data elsewhere cannot be sent as a message' };
  const many =
    data.collectionString?.string ??
    data.collectionBytes?.bytes ??
    (data.collectionDouble?.double ?? data.collectionSint64?.sint64)?.map(String) ??
    [];
  return { messages: many.map((body) => ({ body })) };
}

function fromText(text: string): Messages {
  const isArray = /^\s*\[/.test(text) && /\]\s*$/.test(text.slice(-100)) && parse(text) !== undefined;
  return isArray ? fromElements(text) : { messages: [{ body: text }] };
}

function fromJson(json: string, isWhole: boolean): Messages {
  const parsed = parse(json);
  if (!parsed) return { problem: 'the worker sent JSON that cannot be parsed' };
  const { value } = parsed;
  if (value === null) return { messages: [] };
  if (Array.isArray(value) && !isWhole) return fromElements(json);
  return { messages: [{ body: typeof value === 'string' ? value : json }] };
}

function fromElements(json: string): Messages {
  const elements = splitJsonArray(json).filter((element) => element !== 'null');
  return {
    messages: elements.map((element) => ({
      body: element.startsWith('"') ? (JSON.parse(element) as string) : element, // a JSON string
    })),
  };
}

function parse(json: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(json) as unknown };
  } catch {
    return undefined;
  }
}
