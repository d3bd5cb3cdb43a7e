import { describe, expect, it } from 'vitest';
import { Mailbox } from './mailbox.js';

/** A job that ends when told. */
function gate(): { readonly job: () => Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { job: () => opened, open: () => open() };
}

describe('Mailbox', () => {
  it('runs one job after the other, in the order they were posted', async () => {
    const mailbox = new Mailbox('ledger', 100);
    const log: string[] = [];
    const jobs = Array.from({ length: 20 }, (_, number) =>
      mailbox.post(async () => {
        log.push(`begin ${number}`);
        // jobs of different length: without the mailbox the short ones would overtake
        for (let turn = number % 3; turn >= 0; turn--) await new Promise((resolve) => setImmediate(resolve));
        log.push(`end ${number}`);
        return number;
      }),
    );
    expect(await Promise.all(jobs)).toEqual(jobs.map((_, number) => number));
    expect(log).toEqual(jobs.flatMap((_, number) => [`begin ${number}`, `end ${number}`]));
  });

  it('goes on after a job that failed, and tells only its poster', async () => {
    const mailbox = new Mailbox('ledger', 10);
    const failing = mailbox.post(() => Promise.reject(new Error('no such account')));
    const throwing = mailbox.post(() => {
      throw new Error('not even a promise');
    });
    const next = mailbox.post(() => 'done');
    await expect(failing).rejects.toThrow('no such account');
    await expect(throwing).rejects.toThrow('not even a promise');
    await expect(next).resolves.toBe('done');
    expect(mailbox.size).toBe(0);
  });

  it('refuses a job when it is full, and takes jobs again when one has finished', async () => {
    const mailbox = new Mailbox('ledger', 2);
    const [first, second] = [gate(), gate()];
    const running = [mailbox.post(first.job), mailbox.post(second.job)];
    await expect(mailbox.post(() => 'third')).rejects.toMatchObject({
      code: 'MAILBOX_FULL',
      message: 'ledger already holds 2 jobs; try again in a moment',
    });
    first.open();
    await running[0];
    expect(mailbox.size).toBe(1);
    const third = mailbox.post(() => 'third');
    second.open();
    await expect(third).resolves.toBe('third');
  });

  it('lets accepted jobs finish on close, and takes no others', async () => {
    const mailbox = new Mailbox('ledger', 5);
    const slow = gate();
    const log: string[] = [];
    const running = [mailbox.post(slow.job), mailbox.post(() => log.push('second'))];
    const closed = mailbox.close().then(() => log.push('closed'));
    await expect(mailbox.post(() => 'late')).rejects.toMatchObject({ code: 'MAILBOX_CLOSED' });
    expect(log).toEqual([]);
    slow.open();
    await closed;
    await Promise.all(running);
    expect(log).toEqual(['second', 'closed']);
    await mailbox.close();
  });

  it('closes although the last job failed', async () => {
    const mailbox = new Mailbox('ledger', 5);
    const failing = mailbox.post(() => Promise.reject(new Error('last')));
    await expect(Promise.all([mailbox.close(), expect(failing).rejects.toThrow('last')])).resolves.toBeDefined();
  });

  it('refuses a capacity that is no bound', () => {
    for (const capacity of [0, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => new Mailbox('ledger', capacity)).toThrow(RangeError);
    }
  });
});
