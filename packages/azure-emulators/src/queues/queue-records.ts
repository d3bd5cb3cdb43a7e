import type { JournalRecord } from '../journal/frame.js';
import type { AccessPolicy, EmulatedQueue, MessageFields } from './emulated-queue.js';

/**
 * Records of the journal: a letter and fields separated by spaces, then the text of a message after a line break. Queues are named by
 * their number. A record tells what was decided, not what was asked: replay needs no clock.
 */
export type QueueChange =
  | { readonly kind: 'queue'; readonly queue: QueueDescription }
  | { readonly kind: 'queue-deleted'; readonly number: number }
  | { readonly kind: 'properties'; readonly account: string; readonly sections: Readonly<Record<string, string>> }
  | { readonly kind: 'message'; readonly number: number; readonly message: MessageFields }
  | { readonly kind: 'received'; readonly number: number; readonly visibleAt: number; readonly ids: readonly string[] }
  | {
      readonly kind: 'updated';
      readonly number: number;
      readonly id: string;
      readonly visibleAt: number;
      readonly xmlText: string | undefined;
    }
  | { readonly kind: 'deleted'; readonly number: number; readonly id: string }
  | { readonly kind: 'cleared'; readonly number: number };

type QueueDescription = Pick<EmulatedQueue, 'number' | 'account' | 'name' | 'metadata'> & {
  readonly policies: readonly AccessPolicy[];
};

export function encodeChange(change: QueueChange): JournalRecord {
  switch (change.kind) {
    case 'queue':
      return `Q ${JSON.stringify(change.queue)}`;
    case 'queue-deleted':
      return `X ${change.number}`;
    case 'properties':
      return `S ${JSON.stringify([change.account, change.sections])}`;
    case 'message': {
      const { id, sequence, insertedAt, expiresAt, visibleAt, dequeueCount, version, xmlText } = change.message;
      const times = `${insertedAt} ${expiresAt} ${visibleAt}`;
      return `P ${change.number} ${id} ${sequence} ${times} ${dequeueCount} ${version}\n${xmlText}`;
    }
    case 'received':
      return `R ${change.number} ${change.visibleAt} ${change.ids.join(' ')}`;
    case 'updated': {
      const head = `U ${change.number} ${change.id} ${change.visibleAt}`;
      return change.xmlText === undefined ? head : `${head}\n${change.xmlText}`;
    }
    case 'deleted':
      return `D ${change.number} ${change.id}`;
    case 'cleared':
      return `C ${change.number}`;
  }
}

export function decodeChange(record: Buffer): QueueChange {
  const text = record.toString();
  const kind = text.charAt(0);
  if (kind === 'Q') return { kind: 'queue', queue: JSON.parse(text.slice(2)) as QueueDescription }; // from encodeChange
  if (kind === 'S') {
    const [account, sections] = JSON.parse(text.slice(2)) as [string, Record<string, string>]; // from encodeChange
    return { kind: 'properties', account, sections };
  }
  const lineEnd = text.indexOf('\n');
  const [, queueNumber, ...fields] = text.slice(0, lineEnd < 0 ? undefined : lineEnd).split(' ');
  const xmlText = lineEnd < 0 ? undefined : text.slice(lineEnd + 1);
  const number = Number(queueNumber);
  const [id = ''] = fields;
  switch (kind) {
    case 'X':
      return { kind: 'queue-deleted', number };
    case 'P':
      return { kind: 'message', number, message: messageFields(fields, xmlText ?? '') };
    case 'R':
      return { kind: 'received', number, visibleAt: Number(fields[0]), ids: fields.slice(1) };
    case 'U':
      return { kind: 'updated', number, id, visibleAt: Number(fields[1]), xmlText };
    case 'D':
      return { kind: 'deleted', number, id };
    case 'C':
      return { kind: 'cleared', number };
    default:
      throw new Error(`The journal of the queues has a record of an unknown kind (${kind}): it is of a newer version.`);
  }
}

function messageFields([id = '', ...numbers]: readonly string[], xmlText: string): MessageFields {
  const [sequence = 0, insertedAt = 0, expiresAt = 0, visibleAt = 0, dequeueCount = 0, version = 0] =
    numbers.map(Number);
  return { id, sequence, insertedAt, expiresAt, visibleAt, dequeueCount, version, xmlText };
}
