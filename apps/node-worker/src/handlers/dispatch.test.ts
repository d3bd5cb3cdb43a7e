import { describe, expect, it } from 'vitest';
import { createDispatch } from './dispatch.js';
import { RecordingStream } from '../stream/recording-stream.test.fixture.js';

describe('dispatch', () => {
  const logged: string[] = [];
  const dispatch = createDispatch(
    {
      workerStatusRequest: ({ requestId }, stream) => {
        stream.send({ kind: 'workerStatusResponse', requestId, value: {} });
      },
      invocationCancel: () => {
        throw new Error('a defect');
      },
    },
    (level, message) => logged.push(`${level}: ${message}`),
  );

  it('gives a message to the handler of its kind', () => {
    const stream = new RecordingStream();
    dispatch({ kind: 'workerStatusRequest', requestId: 'r', value: {} }, stream);
    expect(stream.sent).toMatchObject([{ kind: 'workerStatusResponse', requestId: 'r' }]);
  });

  it('survives handlers that throw, and messages without one', () => {
    const stream = new RecordingStream();
    dispatch({ kind: 'invocationCancel', requestId: '', value: { invocationId: 'i' } }, stream);
    dispatch({ kind: undefined, requestId: '', value: undefined }, stream);
    dispatch({ kind: 'workerHeartbeat', requestId: '', value: {} }, stream);
    dispatch({ kind: 'startStream', requestId: '', value: { workerId: 'w' } }, stream);
    expect(logged).toEqual([
      "error: A message of kind 'invocationCancel' could not be handled: a defect",
      'warning: A message of an unknown kind was ignored.',
      "warning: A message of kind 'startStream' was ignored: this worker has no handler for it.",
    ]);
  });
});
