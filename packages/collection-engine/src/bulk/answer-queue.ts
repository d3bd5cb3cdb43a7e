/** Characters of an answer that the client has not read. Many clients read nothing until they have sent their whole request. */
const maxUnread = 8 * 1_024 * 1_024;

/** An answer that is written while its request still comes in, and read at the pace of the client. */
export class AnswerQueue {
  #texts: string[] = [];
  #unread = 0;
  #isEnded = false;
  #wakeReader: () => void = () => undefined;
  #wakeWriter: () => void = () => undefined;

  write(text: string): void {
    if (text === '') return;
    this.#texts.push(text);
    this.#unread += text.length;
    this.#wakeReader();
  }

  /** Waits while the client has too much to read. */
  async room(): Promise<void> {
    while (this.#unread > maxUnread && !this.#isEnded)
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve;
      });
  }

  /** Starts `work` with the first read and yields what it writes; aborts it when the client stops reading. */
  async *read(work: (signal: AbortSignal) => Promise<void>): AsyncGenerator<string> {
    const reading = new AbortController();
    const working = work(reading.signal).finally(() => this.#end());
    working.catch(() => undefined); // awaited when everything is read
    try {
      while (!this.#isEnded || this.#unread > 0) {
        if (this.#unread === 0)
          await new Promise<void>((resolve) => {
            this.#wakeReader = resolve;
          });
        const text = this.#take();
        if (text !== '') yield text;
      }
      await working;
    } finally {
      reading.abort(new Error('The client stopped reading.'));
      this.#end();
    }
  }

  #take(): string {
    const text = this.#texts.join('');
    this.#texts = [];
    this.#unread = 0;
    this.#wakeWriter();
    return text;
  }

  #end(): void {
    this.#isEnded = true;
    this.#wakeReader();
    this.#wakeWriter();
  }
}
