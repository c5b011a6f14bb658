/** A UUIDv7 (RFC 9562): 48 bits of milliseconds, 74 of randomness. */
export function uuid(now: number): string {
  const b = crypto.getRandomValues(new Uint8Array(16));
  for (let i = 5; i >= 0; i--) {
    b[i] = now % 256;
    now = Math.floor(now / 256);
  }
  b[6] = (b[6] & 15) | 112;
  b[8] = (b[8] & 63) | 128;
  let s = "";
  for (let i = 0; i < 16; i++) s += (i > 3 && i < 11 && i % 2 == 0 ? "-" : "") + (b[i] + 256).toString(16).slice(1);
  return s;
}
