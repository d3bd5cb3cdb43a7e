/** Writes a value to standard output as JSON that people can read, too. */
export function printJson(host: Pick<NodeJS.Process, 'stdout'>, value: unknown): void {
  host.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}
