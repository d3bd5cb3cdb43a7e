import { describe, expect, expectTypeOf, it } from 'vitest';
import type { UnexpectedShutdownConfig } from './config.js';
import type { DefineMessages, HandlerContext, Handlers, PayloadOf, ResultOf } from './messages.js';
import type { SendOptions, WorkerClient } from './worker.js';

type Defs = DefineMessages<{
  add: { payload: [number, number]; result: number };
  ping: { result: 'pong' };
  log: { payload: string };
  find: { payload?: { limit: number }; result: string[] };
  build: { payload: string; result: boolean; progress: number };
  rows: { payload: { table: string }; item: { id: number }; progress: string };
  strategy: { result: void };
}>;

interface AsInterface {
  double: { payload: number; result: number };
}

interface HostDefs {
  secret: { payload: string; result: string };
}

declare const client: WorkerClient<Defs>;
/** Never run: the compiler is the test. */
const compiles = (use: () => unknown): void => expect(use).toBeTypeOf('function');

describe('types of a client', () => {
  it('infer results from the name of the message', () => {
    compiles(() => {
      expectTypeOf(client.send('add', [1, 2])).resolves.toEqualTypeOf<number>();
      expectTypeOf(client.send('ping')).resolves.toEqualTypeOf<'pong'>();
      expectTypeOf(client.send('log', 'x')).resolves.toEqualTypeOf<void>();
      expectTypeOf(client.send('find')).resolves.toEqualTypeOf<string[]>();
    });
    expectTypeOf<ResultOf<AsInterface, 'double'>>().toEqualTypeOf<number>();
  });

  it('allow an omitted payload when the message has none or it is optional, and only then', () => {
    expectTypeOf<PayloadOf<Defs, 'ping'>>().toEqualTypeOf<undefined>();
    expectTypeOf<PayloadOf<Defs, 'find'>>().toEqualTypeOf<{ limit: number } | undefined>();
    compiles(() => client.send('find', { limit: 3 }));
    compiles(() => client.send('find', undefined, { timeout: 5 }));
    compiles(() => client.send('ping', undefined, { timeout: 5 }));
    // @ts-expect-error -- the payload is missing
    compiles(() => client.send('add'));
    // @ts-expect-error -- of another type
    compiles(() => client.send('add', ['1', 2]));
    // @ts-expect-error -- there is none
    compiles(() => client.send('ping', 5));
  });

  it('refuse unknown messages, and streams and requests in the place of each other', () => {
    expect.hasAssertions();
    // @ts-expect-error -- not declared
    compiles(() => client.send('subtract', [1, 2]));
    // @ts-expect-error -- a stream
    compiles(() => client.send('rows', { table: 't' }));
    // @ts-expect-error -- not a stream
    compiles(() => client.stream('add', [1, 2]));
  });

  it('infer items and progress', () => {
    compiles(() => {
      expectTypeOf(client.stream('rows', { table: 't' })).toEqualTypeOf<AsyncIterableIterator<{ id: number }>>();
      client.stream('rows', { table: 't' }, { onProgress: (step) => expectTypeOf(step).toEqualTypeOf<string>() });
      return client.send('build', 'x', { onProgress: (step) => expectTypeOf(step).toEqualTypeOf<number>() });
    });
    expectTypeOf<SendOptions<number>['onProgress']>().toEqualTypeOf<((progress: number) => void) | undefined>();
  });
});

describe('types of handlers', () => {
  const handlers: Handlers<Defs, HostDefs> = {
    add: ([left, right], context) => {
      expectTypeOf(context).toEqualTypeOf<HandlerContext<never, HostDefs>>();
      expectTypeOf(context.callHost<'secret'>).returns.resolves.toEqualTypeOf<string>();
      // @ts-expect-error -- the host has no such handler
      compiles(() => context.callHost('open', 'x'));
      return left + right;
    },
    ping: () => 'pong',
    log: () => undefined,
    find: (query) => [String(query?.limit)],
    build: async (_, { progress }) => {
      progress(5);
      // @ts-expect-error -- progress is a number
      compiles(() => progress('5'));
      return true;
    },
    rows: async function* ({ table }) {
      yield { id: table.length };
    },
    strategy: () => undefined,
  };

  it('cover every message', () => {
    const { ping: _, ...rest } = handlers;
    // @ts-expect-error -- one is missing
    expectTypeOf<Handlers<Defs, HostDefs>>().toEqualTypeOf(rest);
    // @ts-expect-error -- one is missing
    const incomplete: Handlers<Defs, HostDefs> = rest;
    compiles(() => incomplete);
  });

  it('return what the message declares', () => {
    expect.hasAssertions();
    // @ts-expect-error -- another result
    const wrong: Handlers<AsInterface> = { double: () => 'two' };
    // @ts-expect-error -- no result
    const none: Handlers<AsInterface> = { double: () => undefined };
    compiles(() => [wrong, none]);
  });
});

describe('types of unexpectedShutdown', () => {
  it('know the messages, by name or below byType, and keep their own names apart', () => {
    expect.hasAssertions();
    const flat: UnexpectedShutdownConfig<Defs> = { strategy: 'retry', attempts: 3, add: { strategy: 'reject' } };
    const nested: UnexpectedShutdownConfig<Defs> = { strategy: 'reject', byType: { strategy: { strategy: 'retry' } } };
    const loose: UnexpectedShutdownConfig<Record<string, { payload: string }>> = {
      strategy: 'reject',
      byType: { any: { strategy: 'retry' } },
    };
    // @ts-expect-error -- no such message
    const unknown: UnexpectedShutdownConfig<Defs> = { strategy: 'reject', subtract: { strategy: 'retry' } };
    // @ts-expect-error -- no such message
    const below: UnexpectedShutdownConfig<Defs> = { strategy: 'reject', byType: { subtract: { strategy: 'retry' } } };
    compiles(() => [flat, nested, loose, unknown, below]);
  });
});
