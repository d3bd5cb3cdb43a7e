/** The width to which the house formats its code. Generated code comes out as the formatter would have it. */
export const lineWidth = 120;

/** The head of a function, with its parameters in one line if they fit. */
export function functionHead(name: string, parameters: readonly string[], result: string): string[] {
  const line = `export function ${name}(${parameters.join(', ')}): ${result} {`;
  if (line.length <= lineWidth) return [line];
  return [`export function ${name}(`, ...parameters.map((parameter) => `  ${parameter},`), `): ${result} {`];
}

/** A list of numbers, in one line or as few as possible. */
export function numberList(head: string, numbers: readonly number[]): string[] {
  const line = `${head}[${numbers.join(', ')}];`;
  if (line.length <= lineWidth) return [line];
  const rows: string[] = [];
  for (const number of numbers) {
    const row = rows.at(-1);
    if (row !== undefined && `${row} ${number},`.length <= lineWidth) rows[rows.length - 1] = `${row} ${number},`;
    else rows.push(`  ${number},`);
  }
  return [`${head}[`, ...rows, '];'];
}

/** Moves lines one step to the right. */
export function indent(lines: readonly string[]): string[] {
  return lines.map((line) => (line === '' ? line : `  ${line}`));
}

/** The name with its article. */
export function aOrAn(name: string): string {
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`;
}
