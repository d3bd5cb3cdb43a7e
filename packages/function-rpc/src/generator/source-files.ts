import type { Message, Schema } from './schema.js';

/** One generated file. Messages that contain each other share a file; every other message has its own. */
export interface SourceFile {
  /** Without folder and extension. */
  readonly name: string;
  readonly messages: readonly Message[];
}

/** Divides the messages into files that do not import each other in a cycle. */
export function sourceFilesOf(schema: Schema): SourceFile[] {
  const byName = new Map(schema.messages.map((message) => [message.name, message]));
  const reached = new Map(schema.messages.map((message) => [message.name, reachableFrom(message, byName)]));
  const placed = new Set<string>();
  return schema.messages.flatMap((message) => {
    if (placed.has(message.name)) return [];
    const circle = schema.messages.filter(
      (other) =>
        other === message || (reached.get(message.name)?.has(other.name) && reached.get(other.name)?.has(message.name)),
    );
    for (const { name } of circle) placed.add(name);
    return [{ name: kebabCase(message.name), messages: circle }];
  });
}

/** Returns the names of the messages in the fields of a message. */
function messagesIn(message: Message): string[] {
  return message.fields.flatMap(({ type }) => (type.kind === 'message' ? [type.message] : []));
}

function reachableFrom(message: Message, byName: ReadonlyMap<string, Message>): Set<string> {
  const reached = new Set<string>();
  const visit = (name: string): void => {
    if (reached.has(name)) return;
    reached.add(name);
    const next = byName.get(name);
    if (next) messagesIn(next).forEach(visit);
  };
  messagesIn(message).forEach(visit);
  return reached;
}

function kebabCase(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
}
