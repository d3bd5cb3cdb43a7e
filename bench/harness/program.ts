import type { Leash } from '@drover/service-kit';
import { Child } from '@drover/testkit';

/** A program of a suite in a process of its own, which answers one request at a time. */
export class Program<Request extends object, Answer> {
  readonly #child: Child;

  /** `command` runs it with another Node.js than this one. */
  constructor(file: URL, leash: Leash, [executable, ...args]: readonly [string, ...string[]] = [process.execPath]) {
    this.#child = new Child(executable, [...args, file.pathname], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    leash.hold(this.#child.pid, { signal: 'SIGTERM', graceMs: 1_000 });
  }

  ask(request: Request): Promise<Answer> {
    const { process: child } = this.#child;
    return new Promise((resolve, reject) => {
      const finish = (): void => void child.off('message', onAnswer).off('exit', onExit);
      // By the failure: an answer that is nothing does not get through the channel.
      const onAnswer = (message: { answer: Answer } | { failure: string }): void => {
        finish();
        if ('failure' in message) reject(new Error(message.failure));
        else resolve(message.answer);
      };
      const onExit = (): void => {
        finish();
        reject(new Error(`the program ended; it printed:\n${this.#child.output}`));
      };
      child.once('message', onAnswer).once('exit', onExit);
      child.send(request, (error) => error && reject(error));
    });
  }

  end(): Promise<void> {
    return this.#child.end();
  }
}

/** The other end: answers requests until its parent is gone. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- says at the call what the channel carries
export function serveRequests<Request>(serve: (request: Request) => Promise<unknown>): void {
  process.once('disconnect', () => process.exit());
  process.on('message', (request: Request) => {
    void serve(request).then(
      (answer) => process.send?.({ answer }),
      (error: unknown) =>
        process.send?.({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
}
