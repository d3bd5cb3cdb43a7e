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
    start: (initial, onMove) => new TableMachine(name, canMove, initial, onMove),
  };
}

/** A class and not an object of closures: there is one for each message and each invocation. */
class TableMachine<State extends string> implements StateMachine<State> {
  readonly #name: string;
  readonly #canMove: (from: State, to: State) => boolean;
  readonly #onMove: ((move: { readonly from: State; readonly to: State }) => void) | undefined;
  #current: State;

  constructor(
    name: string,
    canMove: (from: State, to: State) => boolean,
    initial: State,
    onMove: ((move: { readonly from: State; readonly to: State }) => void) | undefined,
  ) {
    this.#name = name;
    this.#canMove = canMove;
    this.#current = initial;
    this.#onMove = onMove;
  }

  get current(): State {
    return this.#current;
  }

  is(...states: readonly State[]): boolean {
    return states.includes(this.#current);
  }

  move(to: State): void {
    const from = this.#current;
    if (!this.#canMove(from, to)) throw illegalTransition({ machine: this.#name, from, to });
    this.#current = to;
    this.#onMove?.({ from, to });
  }
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
