import { noteExecution, type NotedInput } from '../note-execution.js';

/** Does nothing, and says that it did. */
export default async function noted({ recorder, n }: NotedInput): Promise<null> {
  noteExecution(recorder, Number(n));
  return null;
}
