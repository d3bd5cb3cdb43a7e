import { illegalTransition } from '../errors/errors.js';

export type StateTable<State extends string = string> = Readonly<Record<State, readonly State[]>>;

export interface States<State extends string> {
  readonly name: string;
  readonly all: readonly State[];
  readonly table: StateTable<State>;
  canMove(from: State, to: State): boolean;
  isFinal(state: State): boolean;
  /** A machine that stands in `initial`; `onMove` sees every change after it was made. */
  start(initial: State, onMove?: (change: { from: State; to: State }) => void): StateMachine<State>;
}

export interface StateMachine<State extends string> {
  readonly current: State;
  is(...states: readonly State[]): boolean;
  /** Goes to `to`, or throws `ILLEGAL_TRANSITION`. */
  move(to: State): void;
}

/** One table per machine: each state with the states that may follow it. */
export function defineStates<const Table extends Readonly<Record<string, readonly string[]>>>(
  name: string,
  rows: Table & StateTable<keyof Table & string>,
): States<keyof Table & string> {
  type State = keyof Table & string;
  const table: StateTable<State> = rows;
  const all = Object.keys(table) as State[]; // the keys of a Record<State, …> are its States
  const canMove = (from: State, to: State): boolean => table[from].includes(to);
  return {
    name,
    all,
    table,
    canMove,
    isFinal: (state) => table[state].length === 0,
    start(initial, onMove) {
      let current = initial;
      return {
        get current() {
          return current;
        },
        is: (...states) => states.includes(current),
        move(to) {
          const from = current;
          if (!canMove(from, to)) throw illegalTransition({ machine: name, from, to });
          current = to;
          onMove?.({ from, to });
        },
      };
    },
  };
}

/** The table as a Mermaid state diagram; the first state of the table is where the machine starts. */
export function statesToMermaid<State extends string>(states: States<State>): string {
  const id = (state: string): string => state.replaceAll('-', '_');
  const lines = ['stateDiagram-v2'];
  for (const state of states.all) if (id(state) !== state) lines.push(`  state "${state}" as ${id(state)}`);
  const [first] = states.all;
  if (first !== undefined) lines.push(`  [*] --> ${id(first)}`);
  for (const from of states.all) {
    for (const to of states.table[from]) lines.push(`  ${id(from)} --> ${id(to)}`);
    if (states.isFinal(from)) lines.push(`  ${id(from)} --> [*]`);
  }
  return lines.join('\n');
}
