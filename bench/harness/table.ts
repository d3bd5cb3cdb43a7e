/** One figure of a suite. */
export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** How it compares: "9.1x single inserts". */
  readonly ratio?: string;
  readonly goal?: Goal;
}

export interface Goal {
  readonly text: string;
  readonly reached: boolean;
}

export const atLeast = (value: number, least: number, unit: string): Goal => ({
  text: `>= ${least}${unit}`,
  reached: value >= least,
});

export const below = (value: number, limit: number, unit: string): Goal => ({
  text: `< ${limit}${unit}`,
  reached: value < limit,
});

/** "9.1x single inserts" */
export const times = (ratio: number, yardstick: string): string => `${ratio.toFixed(ratio < 10 ? 2 : 1)}x ${yardstick}`;

const headings = ['what', 'value', 'unit', 'ratio', 'goal', 'reached'];
const isRightAligned = (column: number): boolean => column === 1;

/** For people: one line a figure, in columns. */
export function formatTable(figures: readonly Figure[]): string {
  const rows = [headings, ...figures.map((figure) => toCells(figure))];
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const format = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        isRightAligned(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  const [head = [], ...body] = rows;
  return [format(head), widths.map((width) => '-'.repeat(width)).join('  '), ...body.map((row) => format(row))].join(
    '\n',
  );
}

function toCells({ what, value, unit, ratio = '', goal }: Figure): string[] {
  const reached = goal === undefined ? '' : goal.reached ? 'yes' : 'NO';
  return [what, formatValue(value), unit, ratio, goal?.text ?? '', reached];
}

/** Three digits say all that a benchmark knows. */
function formatValue(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
