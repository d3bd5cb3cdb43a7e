import { parsePattern, type CharacterSet, type PatternNode, type PatternProblem } from './pattern-syntax.js';

export interface CompiledPattern {
  /** Whether the whole text matches. */
  readonly matches: (text: string) => boolean;
  readonly node: PatternNode;
}

/** A step of the automaton: reads a character, splits, checks its position, or accepts. */
type Step =
  | { readonly read: (code: number) => boolean }
  | { to: number; readonly or: number | undefined }
  | { readonly at: 'start' | 'end' }
  | 'accept';

const maxSteps = 5_000;

/** Compiles a pattern to an automaton that is simulated without backtracking. Returns a problem if the pattern is wrong. */
export function compileFieldPattern(source: string): CompiledPattern | PatternProblem {
  const node = parsePattern(source);
  if ('problem' in node) return node;
  const steps: Step[] = [];
  append(node, steps);
  if (steps.length > maxSteps) return { problem: 'its repetitions are too large' };
  steps.push('accept');
  const automaton = new Automaton(steps);
  return { matches: (text) => automaton.matches(text), node };
}

/** Appends steps for `node`; each one goes on with the next step. */
function append(node: PatternNode, steps: Step[]): void {
  if (steps.length > maxSteps) return;
  switch (node.kind) {
    case 'set':
      steps.push({ read: reader(node.set) });
      return;
    case 'start':
    case 'end':
      steps.push({ at: node.kind });
      return;
    case 'sequence':
      for (const part of node.parts) append(part, steps);
      return;
    case 'choice':
      appendChoice(node.parts, steps);
      return;
    case 'repeat':
      appendRepeat(node, steps);
  }
}

function appendChoice(parts: readonly PatternNode[], steps: Step[]): void {
  const jumps: { to: number; or: number | undefined }[] = [];
  parts.forEach((part, index) => {
    const isLast = index === parts.length - 1;
    const split = { to: steps.length + 1, or: undefined as number | undefined };
    if (!isLast) steps.push(split);
    append(part, steps);
    if (isLast) return;
    const jump = { to: 0, or: undefined };
    jumps.push(jump);
    steps.push(jump);
    split.or = steps.length;
  });
  for (const jump of jumps) jump.to = steps.length;
}

function appendRepeat({ part, min, max }: Extract<PatternNode, { kind: 'repeat' }>, steps: Step[]): void {
  for (let count = 0; count < min && steps.length <= maxSteps; count += 1) append(part, steps);
  const skips: { to: number; or: number | undefined }[] = [];
  const optional = (): void => {
    const split = { to: steps.length + 1, or: undefined as number | undefined };
    steps.push(split);
    skips.push(split);
    append(part, steps);
  };
  if (max === Infinity) {
    const start = steps.length;
    optional();
    steps.push({ to: start, or: undefined });
  } else {
    for (let count = min; count < max && steps.length <= maxSteps; count += 1) optional();
  }
  for (const split of skips) split.or = steps.length;
}

/** The steps that an automaton can be at, after it has read a part of a text. */
interface Position {
  readonly steps: readonly number[];
  /** Whether the text may end here. */
  readonly isEnd: boolean;
  /** Where characters of ASCII lead, once they have been read here. */
  readonly next: (Position | undefined)[];
}

const maxPositions = 100;

/**
 * Runs the automaton on texts, from position to position. Positions are made when they are first reached and then looked up, so that
 * most characters cost one look-up; a pattern with more of them than the bound makes them again.
 */
class Automaton {
  readonly #steps: readonly Step[];
  readonly #start: Position;
  #positions = new Map<string, Position>();

  constructor(steps: readonly Step[]) {
    this.#steps = steps;
    this.#start = this.#positionAt(this.#reach([0], true, false));
  }

  matches(text: string): boolean {
    let position = this.#start;
    for (let at = 0; at < text.length && position.steps.length > 0; ) {
      const code = text.codePointAt(at) ?? 0;
      at += code > 0xff_ff ? 2 : 1;
      position = position.next[code] ?? this.#read(position, code);
    }
    return (
      position.steps.length > 0 && (text.length > 0 || position !== this.#start ? position.isEnd : this.#isEmptyMatch())
    );
  }

  /** Only the empty text starts and ends at one place. */
  #isEmptyMatch(): boolean {
    return this.#accepts(this.#reach([0], true, true));
  }

  #read(position: Position, code: number): Position {
    const read = position.steps.filter((index) => {
      const step = this.#steps[index];
      return step !== undefined && step !== 'accept' && 'read' in step && step.read(code);
    });
    const reached = this.#positionAt(
      this.#reach(
        read.map((index) => index + 1),
        false,
        false,
      ),
    );
    if (code < 128) position.next[code] = reached;
    return reached;
  }

  #positionAt(steps: readonly number[]): Position {
    const key = steps.join();
    const known = this.#positions.get(key);
    if (known) return known;
    const atEnd = steps.filter((index) => isAt(this.#steps[index], 'end'));
    const isEnd = this.#accepts(steps) || this.#accepts(this.#reach(atEnd, false, true));
    const position = { steps, isEnd, next: [] };
    if (this.#positions.size >= maxPositions) this.#forget();
    this.#positions.set(key, position);
    return position;
  }

  /** Positions refer to each other; all can be reached from the first one. */
  #forget(): void {
    this.#positions = new Map();
    this.#start.next.length = 0;
  }

  #accepts(steps: readonly number[]): boolean {
    return steps.some((index) => this.#steps[index] === 'accept');
  }

  /** Returns all steps that are reached without a character, in their order. A check for the end stays until the text has ended. */
  #reach(from: readonly number[], isStart: boolean, isEnd: boolean): number[] {
    const reached = new Set<number>();
    const stack = [...from];
    for (let index = stack.pop(); index !== undefined; index = stack.pop()) {
      const step = this.#steps[index];
      if (step === undefined || reached.has(index)) continue;
      reached.add(index);
      if (step === 'accept' || 'read' in step) continue;
      if ('at' in step) {
        if (step.at === 'start' ? isStart : isEnd) stack.push(index + 1);
      } else {
        stack.push(step.to);
        if (step.or !== undefined) stack.push(step.or);
      }
    }
    return [...reached].filter((index) => this.#isKept(index)).toSorted((one, other) => one - other);
  }

  #isKept(index: number): boolean {
    const step = this.#steps[index];
    return step === 'accept' || (step !== undefined && 'read' in step) || isAt(step, 'end');
  }
}

const isAt = (step: Step | undefined, place: 'start' | 'end'): boolean =>
  step !== undefined && step !== 'accept' && 'at' in step && step.at === place;

/** Characters of ASCII are looked up; others are compared with the ranges. */
function reader(set: CharacterSet): (code: number) => boolean {
  const properties = set.properties.map((name) => new RegExp(`^\\p{${name}}$`, 'u'));
  const isMember = (code: number): boolean =>
    (set.ranges.some(([first, last]) => code >= first && code <= last) ||
      properties.some((property) => property.test(String.fromCodePoint(code)))) !== set.isNegated;
  const ascii = Uint8Array.from({ length: 128 }, (_, code) => (isMember(code) ? 1 : 0));
  return (code) => (code < 128 ? ascii[code] === 1 : isMember(code));
}
