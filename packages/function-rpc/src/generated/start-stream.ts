// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Worker to host, first on every stream: identifies the worker. */
export interface StartStream {
  readonly workerId: string;
}

/** StartStream for writing. Omitted fields have their defaults. */
export interface StartStreamInit {
  readonly workerId?: string | null | undefined;
}

/** Writes the fields of a StartStream. */
export function writeStartStream(writer: ProtoWriter, message: StartStreamInit): void {
  if (message.workerId) writer.string(18, message.workerId);
}

const startStreamFields: readonly number[] = [2];

/** Reads a StartStream that ends at `end`. */
export function readStartStream(reader: ProtoReader, end: number): StartStream {
  let workerId = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 18:
        workerId = reader.string(end);
        break;
      default:
        reader.skip(tag, end, startStreamFields);
    }
  }
  reader.leave(end);
  return {
    workerId,
  };
}
