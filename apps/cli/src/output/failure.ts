/** Runs a command; an error becomes one sentence on standard error and exit code 1. */
export async function reportFailure(host: NodeJS.Process, command: () => Promise<void>): Promise<void> {
  try {
    await command();
  } catch (error) {
    host.stderr.write(`drover: ${error instanceof Error ? error.message : String(error)}\n`);
    host.exitCode = 1;
  }
}
