import { eventually, FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { Attachments, type AttachedRuntime } from './attachments.js';
import type { ControllerMessage, RuntimeMessage } from './messages.js';
import { ScaleLinkClient, type ScaleLinkClientOptions } from './scale-link-client.js';
import { applicationSample, attachMessage } from './testing/link-messages.js';
import { MemoryScaleLink } from './testing/memory-scale-link.js';

/** A controller in memory that records what runtimes say. */
class TestController {
  readonly clock = new FakeClock();
  readonly runtimes: AttachedRuntime[] = [];
  readonly received: RuntimeMessage[] = [];
  readonly detached: string[] = [];
  readonly refused: string[] = [];
  readonly #attachments = new Attachments({
    clock: this.clock,
    onRefused: (_address, reason) => this.refused.push(reason),
    onAttached: (runtime) => {
      this.runtimes.push(runtime);
      return {
        received: (message) => this.received.push(message),
        detached: (reason) => this.detached.push(reason),
      };
    },
  });
  readonly link = new MemoryScaleLink((stream) => this.#attachments.accept(stream));
}

class TestRuntime {
  readonly clock = new FakeClock();
  readonly commands: ControllerMessage[] = [];
  readonly detached: string[] = [];
  readonly planned: boolean[] = [];
  readonly unreachable: string[] = [];
  attached = 0;
  readonly client: ScaleLinkClient;

  constructor(open: ScaleLinkClientOptions['open']) {
    this.client = new ScaleLinkClient({
      open,
      onDetached: (reason, isPlanned) => {
        this.detached.push(reason);
        this.planned.push(isPlanned);
      },
      onUnreachable: (reason) => this.unreachable.push(reason),
      clock: this.clock,
      randomness: seededRandomness(1),
    });
    this.client.serve({
      attach: () => attachMessage({ applications: { 'default/hello': this.attached } }),
      attached: () => (this.attached += 1),
      received: (command) => this.commands.push(command),
    });
  }
}

const drainCommand: ControllerMessage = { kind: 'drain', token: 1, commandId: 7, workerId: 'w1', withinMs: 5 };

describe('scale link client', () => {
  it('attaches with its complete state, takes commands and answers them', async () => {
    const controller = new TestController();
    const runtime = new TestRuntime([controller.link.open]);
    await runtime.client.start();
    await eventually(() => expect(controller.runtimes).toHaveLength(1));
    expect(controller.runtimes[0]?.attach.applications).toEqual({ 'default/hello': 0 });
    controller.runtimes[0]?.send(drainCommand);
    await eventually(() => expect(runtime.commands).toEqual([drainCommand]));
    runtime.client.send({ kind: 'answer', commandId: 7 });
    await eventually(() => expect(controller.received).toEqual([{ kind: 'answer', commandId: 7 }]));
    await runtime.client.stop();
    expect(controller.detached).toHaveLength(1);
    expect(runtime.detached).toEqual([]);
  });

  it('tells a controller that lets it go from a connection that was lost', async () => {
    const controller = new TestController();
    const runtime = new TestRuntime([controller.link.open]);
    await runtime.client.start();
    await eventually(() => expect(controller.runtimes).toHaveLength(1));
    controller.runtimes[0]?.detach('it stops');
    await eventually(() => expect(runtime.planned).toEqual([true]));
    await eventually(async () => {
      await runtime.clock.advance(1_000);
      return controller.runtimes.length === 2;
    });
    controller.link.disconnect('the connection was lost');
    await eventually(() => expect(runtime.planned).toEqual([true, false]));
    await runtime.client.stop();
  });

  it('attaches again with its state of then when the controller is gone and back', async () => {
    const controller = new TestController();
    const runtime = new TestRuntime([controller.link.open]);
    await runtime.client.start();
    await eventually(() => expect(runtime.attached).toBe(1));
    controller.link.refusal = 'connection refused';
    controller.link.disconnect('the connection was lost');
    await eventually(() => expect(runtime.detached).toEqual(['the connection was lost']));
    expect(runtime.client.isAttached).toBe(false);
    expect(runtime.client.send({ kind: 'answer', commandId: 1 })).toBe(false);
    await eventually(async () => {
      await runtime.clock.advance(100);
      expect(runtime.unreachable.length).toBeGreaterThan(1);
    });
    controller.link.refusal = undefined;
    await eventually(async () => {
      await runtime.clock.advance(500);
      expect(controller.runtimes).toHaveLength(2);
    });
    expect(controller.runtimes[1]?.attach.applications).toEqual({ 'default/hello': 1 });
    await runtime.client.stop();
  });

  it('tries the next controller when the first does not lead', async () => {
    const standby = new TestController();
    standby.link.refusal = 'FAILED_PRECONDITION: does not lead';
    const leader = new TestController();
    const runtime = new TestRuntime([standby.link.open, leader.link.open]);
    await runtime.client.start();
    await eventually(() => expect(leader.runtimes).toHaveLength(1));
    expect(standby.runtimes).toHaveLength(0);
    expect(runtime.unreachable).toEqual(['FAILED_PRECONDITION: does not lead']);
    await runtime.client.stop();
  });

  it('drops samples, and nothing else, while the stream is full', async () => {
    const controller = new TestController();
    const full: ScaleLinkClientOptions['open'][number] = async (signal) =>
      Object.assign(await controller.link.open(signal), { isFull: true });
    const runtime = new TestRuntime([full]);
    await runtime.client.start();
    await eventually(() => expect(controller.runtimes).toHaveLength(1));
    runtime.client.send({ kind: 'sample', atMs: 1, memory: 0, applications: [applicationSample()] });
    runtime.client.send({ kind: 'answer', commandId: 1 });
    await eventually(() => expect(controller.received.map(({ kind }) => kind)).toEqual(['answer']));
    await runtime.client.stop();
  });
});

describe('attachments', () => {
  it('ends the stream before when a runtime attaches again, and tells its owner first', async () => {
    const controller = new TestController();
    const first = new TestRuntime([controller.link.open]);
    await first.client.start();
    await eventually(() => expect(controller.runtimes).toHaveLength(1));
    const second = await controller.link.open(new AbortController().signal);
    second.start({ onMessage: () => undefined, onEnd: () => undefined });
    second.send(attachMessage({ incarnation: 'two' }));
    await eventually(() => expect(controller.runtimes).toHaveLength(2));
    expect(controller.detached).toEqual(['the runtime attached again']);
    await eventually(() => expect(first.detached).toEqual(['the runtime attached again']));
    first.client.send({ kind: 'answer', commandId: 1 });
    expect(controller.received).toEqual([]);
    await first.client.stop();
  });

  it('refuses a stream that does not begin with attach', async () => {
    const controller = new TestController();
    const stream = await controller.link.open(new AbortController().signal);
    const ended: string[] = [];
    stream.start({ onMessage: () => undefined, onEnd: ({ reason }) => ended.push(reason) });
    stream.send({ kind: 'answer', commandId: 1 });
    await eventually(() => expect(ended).toEqual(['the first message is not attach']));
    expect(controller.refused).toEqual(['the first message is not attach']);
  });

  it('refuses a stream without attach after a time limit', async () => {
    const controller = new TestController();
    const stream = await controller.link.open(new AbortController().signal);
    const ended: string[] = [];
    stream.start({ onMessage: () => undefined, onEnd: ({ reason }) => ended.push(reason) });
    await controller.clock.advance(10_000);
    await eventually(() => expect(ended).toEqual(['no attach message arrived in time']));
  });
});
