import type { Static, TSchema } from 'typebox';

/** A named stream of events with one schema. Events with the same key are delivered in the order of publication. */
export interface Topic<Payload = unknown> {
  readonly name: string;
  readonly about: string;
  readonly schema: TSchema;
  /** Only a type: never set. */
  readonly payload?: Payload;
}

export function defineTopic<const Schema extends TSchema>(
  name: string,
  definition: { readonly about: string; readonly schema: Schema },
): Topic<Static<Schema>> {
  return { name, ...definition };
}

/** An event to publish. */
export interface NewEvent<Payload = unknown> {
  readonly topic: Topic<Payload>;
  /** Events with the same key stay in order: usually the id of the entity that changed. */
  readonly key: string;
  /** Version of the entity; a receiver ignores events that are older than its state. */
  readonly generation: number;
  readonly payload: Payload;
}

/** An event as a subscriber receives it. */
export interface PublishedEvent<Payload = unknown> {
  /** Position in the log of the bus; grows with every event. */
  readonly position: number;
  readonly topic: string;
  readonly key: string;
  readonly generation: number;
  readonly payload: Payload;
  readonly publishedAt: Date;
}
