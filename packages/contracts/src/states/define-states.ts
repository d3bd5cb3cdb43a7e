import { illegalTransition } from '../errors/errors.js';

export type StateTable<State extends string = string> = Readonly<Record<State, readonly State[]>>;

export interface States<State extends string> {
  readonly name: string;
  readonly all: readonly State[];
  readonly table: StateTable<State>;
  canMove(from: State, to: State): boolean;
  isFinal(state: State): boolean;
  /** Returns a machine in state `initial`. `onMove` is called after every change. */
  start(initial: State, onMove?: (change: { from: State; to: State }) => void): StateMachine<State>;
}

export interface StateMachine<State extends string> {
  readonly current: State;
  is(...states: readonly State[]): boolean;
  /** Changes to state `to`, or throws `ILLEGAL_TRANSITION`. */
  move(to: State): void;
}

/** Declares a state machine as a table: each state with the states that may follow it. */
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

/** Returns the table as a Mermaid state diagram; its first state is the initial one. */
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
