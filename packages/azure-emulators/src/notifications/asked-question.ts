import type { WorkNotes, WorkQuestion } from './work-notes.js';

/** The longest delay that setTimeout can do. */
const maxDelayMs = 0x7fff_ffff;

/** One question until it is answered: looks at once, after each note about its entity, and when hidden work becomes visible. */
export class AskedQuestion {
  readonly #question: WorkQuestion;
  readonly #now: () => number;
  readonly #answer: () => void;
  readonly #unlisten: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  #isOver = false;

  constructor(question: WorkQuestion, notes: WorkNotes, now: () => number, answer: () => void) {
    this.#question = question;
    this.#now = now;
    this.#answer = answer;
    // First the subscription, then the look: nothing can come in between.
    this.#unlisten = notes.listen(question.entity, () => this.#lookSoon());
    this.#lookSoon();
  }

  end(): void {
    this.#isOver = true;
    this.#unlisten();
    clearTimeout(this.#timer);
  }

  /** After the change is complete, and after receivers that wait have taken what is new. */
  #lookSoon(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    queueMicrotask(() => {
      this.#isLooking = false;
      if (!this.#isOver) this.#look();
    });
  }

  #look(): void {
    const found = this.#question.look();
    if (found === true) {
      this.end();
      return this.#answer();
    }
    clearTimeout(this.#timer);
    if (found === false) return;
    this.#timer = setTimeout(() => this.#look(), Math.min(Math.max(found - this.#now(), 0) + 1, maxDelayMs));
    this.#timer.unref();
  }
}
