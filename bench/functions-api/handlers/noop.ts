/** Does nothing. */
export default async function noop(): Promise<null> {
  return null;
}
