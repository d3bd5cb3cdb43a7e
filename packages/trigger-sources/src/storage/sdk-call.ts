/** Runs a call of an Azure SDK. The reason of the signal says why it ended ("deadline passed"); the AbortError of the SDK does not. */
export async function sdkCall<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (signal.aborted && error instanceof Error && error.name === 'AbortError') throw signal.reason;
    throw error;
  }
}
