/** The few types of DER (ITU-T X.690) of which a certificate is made. */

/** One value: its tag, its length and its bytes. */
export function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

export const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, Buffer.concat(parts));
export const set = (part: Buffer): Buffer => der(0x31, part);
/** The bytes of a positive number, whose first bit is 0. */
export const derInteger = (bytes: Buffer): Buffer => der(0x02, bytes);
export const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text));
export const objectId = (...bytes: readonly number[]): Buffer => der(0x06, Buffer.of(...bytes));

/** Year, month, day, hour, minute and second in two digits each. */
export function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}
