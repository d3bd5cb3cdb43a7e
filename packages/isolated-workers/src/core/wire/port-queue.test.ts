import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { SerializationError } from '../../types/errors.js';
import { kind, type WireMessage } from '../../types/wire-message.js';
import { PortQueue } from './port-queue.js';

/** A queue whose posts are kept, and read by the queue of the other side. */
function wire() {
  const posts: unknown[] = [];
  const queue = new PortQueue({ postMessage: (value) => void posts.push(structuredClone(value)) }, undefined);
  const other = new PortQueue({ postMessage: () => undefined }, undefined);
  const received = (): WireMessage[] => {
    const messages: WireMessage[] = [];
    for (const post of posts) other.open(post, (message) => messages.push(message));
    return messages;
  };
  return { queue, posts, received };
}

const result = (id: number, value: unknown): WireMessage => [kind.result, id, value];

it.each([
  { name: 'a number', value: 7, isText: false },
  { name: 'a flat object', value: { id: 7, name: 'x', none: null }, isText: false },
  { name: 'a nested object', value: { id: 7, tags: ['a'] }, isText: true },
  {
    name: 'an object with many properties',
    value: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [n, n])),
    isText: true,
  },
  { name: 'a proxy, which cannot be cloned', value: new Proxy({ id: 7 }, {}), isText: true },
])('a single message with $name is posted at once', ({ value, isText }) => {
  const { queue, posts, received } = wire();
  queue.send(result(1, value));
  expect(posts.map((post) => typeof post === 'string')).toEqual([isText]);
  expect(received()).toEqual([result(1, value)]);
});

it('messages of one turn arrive in their order, the first at once', async () => {
  const { queue, posts, received } = wire();
  const messages = [result(1, { a: 1 }), result(2, 'b'), result(3, { c: [3] })];
  for (const message of messages) queue.send(message);
  expect(posts).toHaveLength(1);
  await nextTurn();
  expect(posts).toHaveLength(2);
  expect(received()).toEqual(messages);
});

it('a value that cannot be read is refused, and later messages are sent', () => {
  const { queue, posts, received } = wire();
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  expect(() => queue.send(result(1, proxy))).toThrow(SerializationError);
  expect(posts).toEqual([]);
  queue.send(result(2, { fine: true }));
  expect(received()).toEqual([result(2, { fine: true })]);
});

it('one message at a time is answered at once again after many', async () => {
  const { queue, posts } = wire();
  for (const id of [1, 2, 3]) queue.send(result(id, 'many'));
  await nextTurn();
  queue.open(JSON.stringify([result(1, 'x'), result(2, 'y')]), () => undefined); // many came together
  posts.splice(0);
  queue.send(result(4, 'one'));
  await nextTurn();
  const [post] = posts;
  const answering = wire();
  answering.queue.open(post, () => answering.queue.send(result(4, 'answer')));
  expect(answering.posts).toEqual([result(4, 'answer')]);
});
