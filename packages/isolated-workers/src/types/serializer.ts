/** Converts values to bytes and back. Host and worker must use the same serializer. */
export interface Serializer {
  /** Compared at start: a worker with another serializer refuses to start. */
  readonly name: string;
  serialize(value: unknown): Uint8Array;
  deserialize(bytes: Uint8Array): unknown;
}
