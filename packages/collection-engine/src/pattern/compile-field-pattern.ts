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
  return { matches: (text) => simulate(steps, text), node };
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

function simulate(steps: readonly Step[], text: string): boolean {
  let current: number[] = [];
  let following: number[] = [];
  /** The position at which a step was last reached, plus one. */
  const reached = new Int32Array(steps.length);
  const stack: number[] = [];
  const reach = (first: number, at: number, list: number[]): void => {
    stack.push(first);
    for (let index = stack.pop(); index !== undefined; index = stack.pop()) {
      const step = steps[index];
      if (step === undefined || reached[index] === at + 1) continue;
      reached[index] = at + 1;
      if (step === 'accept' || 'read' in step) list.push(index);
      else if ('at' in step) {
        if (step.at === 'start' ? at === 0 : at === text.length) stack.push(index + 1);
      } else {
        stack.push(step.to);
        if (step.or !== undefined) stack.push(step.or);
      }
    }
  };
  reach(0, 0, current);
  for (let at = 0; at < text.length && current.length > 0; ) {
    const code = text.codePointAt(at) ?? 0;
    at += code > 0xff_ff ? 2 : 1;
    for (const index of current) {
      const step = steps[index];
      if (step !== undefined && step !== 'accept' && 'read' in step && step.read(code)) reach(index + 1, at, following);
    }
    [current, following] = [following, current];
    following.length = 0;
  }
  return current.some((index) => steps[index] === 'accept');
}

/** Characters of ASCII are looked up; others are compared with the ranges. */
function reader(set: CharacterSet): (code: number) => boolean {
  const properties = set.properties.map((name) => new RegExp(`^\\p{${name}}$`, 'u'));
  const isMember = (code: number): boolean =>
    (set.ranges.some(([first, last]) => code >= first && code <= last) ||
      properties.some((property) => property.test(String.fromCodePoint(code)))) !== set.isNegated;
  const ascii = Uint8Array.from({ length: 128 }, (_, code) => (isMember(code) ? 1 : 0));
  return (code) => (code < 128 ? ascii[code] === 1 : isMember(code));
}
