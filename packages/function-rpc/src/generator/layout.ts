/** The line width of the formatter: generated code is already formatted. */
export const lineWidth = 120;

/** Emits the head of a function, with its parameters on one line if they fit. */
export function functionHead(name: string, parameters: readonly string[], result: string): string[] {
  const line = `export function ${name}(${parameters.join(', ')}): ${result} {`;
  if (line.length <= lineWidth) return [line];
  return [`export function ${name}(`, ...parameters.map((parameter) => `  ${parameter},`), `): ${result} {`];
}

/** Emits a list of numbers on as few lines as possible. */
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

/** Indents lines by one level. */
export function indent(lines: readonly string[]): string[] {
  return lines.map((line) => (line === '' ? line : `  ${line}`));
}

/** Returns the name with its article. */
export function aOrAn(name: string): string {
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`;
}
