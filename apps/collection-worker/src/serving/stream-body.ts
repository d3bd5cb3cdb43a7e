import type { AnswerSink } from '@drover/http-edge';

/**
 * Writes a body as it is made, and no faster than the client reads it. Resolves at its end, or when the client has left; then the
 * source is closed. Rejects if the source fails, after the connection was broken: a part must not be taken for the whole.
 */
export async function streamBody(body: AsyncIterable<string | Buffer>, sink: AnswerSink): Promise<void> {
  let hasLeft = false;
  let goOn = (): void => undefined;
  sink.onLeft = () => {
    hasLeft = true;
    goOn();
  };
  sink.onDrain = () => goOn();
  try {
    for await (const part of body) {
      if (hasLeft) return;
      if (!sink.write(typeof part === 'string' ? Buffer.from(part) : part))
        await new Promise<void>((resolve) => (goOn = resolve));
      if (hasLeft) return;
    }
    if (!hasLeft) sink.end();
  } catch (error) {
    if (hasLeft) return;
    sink.destroy();
    throw error;
  }
}
