import { parsePattern, PatternProblem, type CharacterTest, type Pattern } from './pattern-syntax.js';

/** Steps of one pattern together. */
const maxSteps = 300;
/** A longer text does not match: together with the number of steps this bounds what one look can cost. */
const maxTextLength = 256;

type Step =
  | { readonly kind: 'character'; readonly test: CharacterTest; next: number }
  | { readonly kind: 'start' | 'end'; next: number }
  | { readonly kind: 'split'; next: number; other: number }
  | { readonly kind: 'done' };

/**
 * A regular expression that looks at every character once, in all ways at the same time: the time it takes grows with the
 * length of the text, whatever the pattern. Case is ignored, and the match may be anywhere, as in the original's routes.
 */
export function compilePattern(
  source: string,
): { readonly matches: (text: string) => boolean } | { readonly problem: string } {
  if (source.length > 1_000) return { problem: 'is longer than 1000 characters' };
  try {
    const steps: Step[] = [{ kind: 'done' }];
    const first = compile(parsePattern(source), 0, steps);
    return { matches: (text) => text.length <= maxTextLength && run(steps, first, text) };
  } catch (error) {
    if (error instanceof PatternProblem) return { problem: `has ${error.message}, which cannot be used in a route` };
    throw error;
  }
}

/** Adds the steps of a pattern that goes on at `next`; returns where it begins. */
function compile(pattern: Pattern, next: number, steps: Step[]): number {
  switch (pattern.kind) {
    case 'character':
      return add(steps, { kind: 'character', test: pattern.test, next });
    case 'start':
    case 'end':
      return add(steps, { kind: pattern.kind, next });
    case 'sequence':
      return pattern.parts.reduceRight((after, part) => compile(part, after, steps), next);
    case 'choice':
      return pattern.parts
        .map((part) => compile(part, next, steps))
        .reduce((other, begin) => add(steps, { kind: 'split', next: begin, other }));
    case 'repeat':
      return repeat(pattern, next, steps);
  }
}

function repeat({ part, min, max }: Extract<Pattern, { kind: 'repeat' }>, next: number, steps: Step[]): number {
  let begin = next;
  if (max === Number.POSITIVE_INFINITY) {
    const loop: Step = { kind: 'split', next: 0, other: next };
    begin = add(steps, loop);
    loop.next = compile(part, begin, steps);
  } else {
    for (let more = min; more < max; more += 1)
      begin = add(steps, { kind: 'split', next: compile(part, begin, steps), other: next });
  }
  for (let required = 0; required < min; required += 1) begin = compile(part, begin, steps);
  return begin;
}

function add(steps: Step[], step: Step): number {
  if (steps.length >= maxSteps) throw new PatternProblem('too many steps');
  return steps.push(step) - 1;
}

function run(steps: readonly Step[], first: number, text: string): boolean {
  // Where in the text each step was entered last: nobody enters one twice at the same place.
  const enteredAt = new Int32Array(steps.length).fill(-1);
  let current: number[] = [];
  for (let at = 0; ; at += 1) {
    // A match may begin at every character.
    if (enter(steps, first, at, text.length, current, enteredAt)) return true;
    const character = text.charAt(at);
    if (character === '') return false;
    const following: number[] = [];
    for (const index of current) {
      const step = steps[index];
      if (step?.kind !== 'character' || !step.test(character)) continue;
      if (enter(steps, step.next, at + 1, text.length, following, enteredAt)) return true;
    }
    current = following;
  }
}

/** Adds a step and all that can be reached from it without a character; true once the end of the pattern is. */
function enter(
  steps: readonly Step[],
  first: number,
  at: number,
  length: number,
  into: number[],
  enteredAt: Int32Array,
): boolean {
  const waiting = [first];
  for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
    const step = steps[index];
    if (!step || enteredAt[index] === at) continue;
    enteredAt[index] = at;
    if (step.kind === 'done') return true;
    if (step.kind === 'character') into.push(index);
    else if (step.kind === 'split') waiting.push(step.next, step.other);
    else if ((step.kind === 'start' && at === 0) || (step.kind === 'end' && at === length)) waiting.push(step.next);
  }
  return false;
}
