import type { Static, TSchema } from 'typebox';

/** A named stream of events of one shape. Events with the same key arrive in the order they were published. */
export interface Topic<Payload = unknown> {
  readonly name: string;
  readonly about: string;
  readonly schema: TSchema;
  /** Only for the compiler. */
  readonly payload?: Payload;
}

export function defineTopic<const Schema extends TSchema>(
  name: string,
  definition: { readonly about: string; readonly schema: Schema },
): Topic<Static<Schema>> {
  return { name, ...definition };
}

/** An event that somebody wants to publish. */
export interface NewEvent<Payload = unknown> {
  readonly topic: Topic<Payload>;
  /** What must stay in order: usually the id of the entity that changed. */
  readonly key: string;
  /** Of the entity; a receiver ignores what is older than what it has. */
  readonly generation: number;
  readonly payload: Payload;
}

/** An event as a subscriber gets it. */
export interface PublishedEvent<Payload = unknown> {
  /** Grows with every event of the bus: where to go on after an absence. */
  readonly position: number;
  readonly topic: string;
  readonly key: string;
  readonly generation: number;
  readonly payload: Payload;
  readonly publishedAt: Date;
}
