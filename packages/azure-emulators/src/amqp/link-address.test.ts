import { describe, expect, it } from 'vitest';
import { nodePath } from './link-address.js';

describe('the address of a link', () => {
  it.each([
    ['orders', 'orders'],
    ['/orders', 'orders'],
    ['orders/', 'orders'],
    ['team/orders/$DeadLetterQueue', 'team/orders/$DeadLetterQueue'],
    ['amqps://localhost:5672/orders', 'orders'],
    ['AMQP://localhost/orders/$management', 'orders/$management'],
    ['sb://localhost/hub/ConsumerGroups/%24Default/Partitions/0', 'hub/ConsumerGroups/$Default/Partitions/0'],
    ['amqps://localhost:5672/$cbs', '$cbs'],
    ['amqps://localhost', ''],
    ['amqps://localhost/50%', '50%'],
    ['', ''],
  ])('%j is the node %j', (address, node) => {
    expect(nodePath(address)).toBe(node);
  });
});
