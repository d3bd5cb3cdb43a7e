/** Turns values into bytes and back. Both sides must use the same. */
export interface Serializer {
  /** Told to the other side, which refuses to start when it has another one. */
  readonly name: string;
  serialize(value: unknown): Uint8Array;
  deserialize(bytes: Uint8Array): unknown;
}
